/** In which order clients find groups and versions: the numbers of kube-apiserver for what this server serves itself. */
import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import { groupNamed, versionNamed } from '../../api/kinds/builtin-groups.ts';

export interface Priority {
  readonly group: number;
  readonly version: number;
}

const usualVersion = 15;
const customPriority: Priority = { group: 1_000, version: 100 };

/** The priority of a version that this server serves; in a minor of Kubernetes, the one that it had there. */
export function localPriority(apiVersion: string, minor?: ChosenMinor): Priority {
  const former = minor?.priority(apiVersion);
  if (former) return former;
  const slash = apiVersion.indexOf('/');
  const group = groupNamed(apiVersion.slice(0, Math.max(slash, 0)));
  if (group?.priority === undefined) return customPriority;
  return { group: group.priority, version: versionNamed(apiVersion)?.priority ?? usualVersion };
}
