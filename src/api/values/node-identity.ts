/** The names by which nodes are known as users. */
import type { User } from './user.ts';

export const nodesGroup = 'system:nodes';
export const nodeUserPrefix = 'system:node:';

/** The node that a user is; undefined for all other users. */
export const nodeOf = ({ name, groups }: User): string | undefined =>
  name.startsWith(nodeUserPrefix) && name.length > nodeUserPrefix.length && groups.includes(nodesGroup)
    ? name.slice(nodeUserPrefix.length)
    : undefined;
