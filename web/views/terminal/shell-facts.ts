/** What a terminal is connected to, in a sentence: a process or a container, of which image, on which node, as which user. */
import type { ApiObject, Json } from '../../core/objects.ts';
import { runtimeWords } from '../pods/pod-words.ts';

export function shellFacts({ spec, status }: ApiObject, container: string): string {
  const own = find(spec, ['initContainers', 'containers', 'ephemeralContainers'], container);
  const state = find(
    status,
    ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'],
    container,
  );
  const runtime = runtimeWords(state?.containerID);
  const isProcess = runtime === 'a process of the node';
  const what = isProcess
    ? `a process of the node ${spec?.nodeName ?? ''}, with its files and programs`.replace('  ', ' ')
    : [runtime || 'a container', spec?.nodeName && `on the node ${spec.nodeName}`].filter(Boolean).join(' ');
  const target = own?.targetContainerName ? `, beside the container ${own.targetContainerName}` : '';
  return `${container} is ${what}${target}, image ${state?.image || own?.image || 'unknown'}, as ${userWords(spec, own, state, isProcess)}.`;
}

function userWords(spec: Json, own: Json, state: Json, isProcess: boolean): string {
  // What the node reports holds, whatever was asked for.
  const uid = state?.user?.linux?.uid ?? own?.securityContext?.runAsUser ?? spec?.securityContext?.runAsUser;
  if (uid !== undefined) return Number(uid) === 0 ? 'root (user 0)' : `user ${uid}`;
  return isProcess ? 'the user of the node agent' : 'the user that the image names';
}

const find = (part: Json, fields: readonly string[], name: string): Json =>
  fields.flatMap((field) => (part?.[field] ?? []) as Json[]).find((each) => each?.name === name);
