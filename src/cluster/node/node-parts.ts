/** The parts of a node in one module, loaded with the first node: a server alone needs none of them. */
export { Agent } from '../../node/agent/agent.ts';
export { lateCri, lateDocker, lateSimulation } from '../../node/agent/late-runtimes.ts';
export { NodeNetwork } from '../../node/agent/node-network.ts';
export { handlerOf } from '../../node/agent/runtime-classes.ts';
export { JoinError } from '../../node/joining/join-error.ts';
export { NodeIdentity } from '../../node/joining/node-identity.ts';
export { LogFolder } from '../../node/logs/log-folder.ts';
export { makeFolders } from '../../node/machine/folder-care.ts';
export { parsePodRange } from '../../node/network/subnet.ts';
export { ImageTable } from '../../node/runtime/images.ts';
export { ProcessRuntime } from '../../node/runtime/process/process-runtime.ts';
export { RuntimeChoice } from '../../node/runtime/runtime-choice.ts';
export { LocalVolumes } from '../../node/volumes/local-volumes.ts';
