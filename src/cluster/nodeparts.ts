/** The parts of a node in one module, loaded with the first node: a server alone needs none of them. */
export { Agent } from '../node/agent/agent.ts';
export { NodeNetwork } from '../node/agent/nodenetwork.ts';
export { handlerOf } from '../node/agent/runtimeclasses.ts';
export { authorityIn } from '../node/joining/clusterdiscovery.ts';
export { JoinError } from '../node/joining/joinerror.ts';
export { NodeIdentity } from '../node/joining/nodeidentity.ts';
export { parsePodRange } from '../node/network/subnet.ts';
export { LogFolder } from '../node/pods/logfolder.ts';
export { ImageTable } from '../node/runtime/images.ts';
export { lateCri, lateDocker, lateSimulation } from '../node/runtime/lateruntimes.ts';
export { ProcessRuntime } from '../node/runtime/processruntime.ts';
export { RuntimeChoice } from '../node/runtime/runtimechoice.ts';
export { makeFolders } from '../node/volumes/foldercare.ts';
export { LocalVolumes } from '../node/volumes/localvolumes.ts';
