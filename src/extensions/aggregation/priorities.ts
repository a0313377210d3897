/** In which order clients find groups and versions: the numbers of kube-apiserver for what this server serves itself. */
import { groupNamed, versionNamed } from '../../api/kinds/builtin-groups.ts';

export interface Priority {
  readonly group: number;
  readonly version: number;
}

const usualVersion = 15;
const customPriority: Priority = { group: 1_000, version: 100 };

/** The priority of a version that this server serves. */
export function localPriority(apiVersion: string): Priority {
  const slash = apiVersion.indexOf('/');
  const group = groupNamed(apiVersion.slice(0, Math.max(slash, 0)));
  if (group?.priority === undefined) return customPriority;
  return { group: group.priority, version: versionNamed(apiVersion)?.priority ?? usualVersion };
}
