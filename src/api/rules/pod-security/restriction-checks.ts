/** Checks of the restricted level that are not about privileges: users of processes, types of volumes. */
import {
  containersText,
  ownUsersSince,
  type PodCheck,
  plural,
  quoted,
  settersText,
  sortedSet,
} from './check.ts';

export const runAsNonRoot: PodCheck = {
  id: 'runAsNonRoot',
  level: 'restricted',
  since: 0,
  run(pod, minor) {
    if (minor >= ownUsersSince && pod.hasOwnUsers) return undefined;
    const reason = 'runAsNonRoot != true';
    const ofPod = pod.security.runAsNonRoot;
    const bad = pod.named((context) => context.runAsNonRoot === false);
    if (ofPod === false || bad.length)
      return {
        reason,
        detail: `${settersText(ofPod === false, bad)} must not set securityContext.runAsNonRoot=false`,
      };
    const unset = ofPod ? [] : pod.named((context) => context.runAsNonRoot === undefined);
    if (unset.length === 0) return undefined;
    return {
      reason,
      detail: `pod or ${containersText(unset)} must set securityContext.runAsNonRoot=true`,
    };
  },
};

export const runAsUser: PodCheck = {
  id: 'runAsUser',
  level: 'restricted',
  since: 23,
  run(pod, minor) {
    if (minor >= ownUsersSince && pod.hasOwnUsers) return undefined;
    const podSets = pod.security.runAsUser === 0;
    const names = pod.named((context) => context.runAsUser === 0);
    if (!podSets && names.length === 0) return undefined;
    return { reason: 'runAsUser=0', detail: `${settersText(podSets, names)} must not set runAsUser=0` };
  },
};

const harmlessVolumes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

export const restrictedVolumes: PodCheck = {
  id: 'restrictedVolumes',
  level: 'restricted',
  since: 0,
  replaces: 'hostPathVolumes',
  run({ spec: { volumes = [] } }) {
    const names: string[] = [];
    const types: string[] = [];
    for (const { name = '', ...source } of volumes) {
      const type = Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? 'unknown';
      if (harmlessVolumes.has(type)) continue;
      names.push(name);
      types.push(type);
    }
    if (names.length === 0) return undefined;
    const all = sortedSet(types);
    const uses = `${plural('uses', 'use', names.length)} restricted volume ${plural('type', 'types', all.length)}`;
    return {
      reason: 'restricted volume types',
      detail: `${plural('volume', 'volumes', names.length)} ${quoted(names)} ${uses} ${quoted(all)}`,
    };
  },
};
