/** Parameters of requests, in path and query. */

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'boolean' | 'integer' | 'string';
  readonly description: string;
}

const query = (name: string, type: Parameter['type'], description: string): Parameter => ({
  name,
  in: 'query',
  type,
  description,
});

const path = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  type: 'string',
  description,
});

const all = [
  path('name', 'Name of the object.'),
  path('namespace', 'Namespace the request is about.'),
  path('path', 'The path behind the proxy.'),
  query('pretty', 'string', 'If true, the answer is indented for people to read.'),

  // Lists and watches
  query('allowWatchBookmarks', 'boolean', 'Lets a watch send BOOKMARK events, which only tell a version.'),
  query('continue', 'string', 'Token from the answer before, to get the next page of a list.'),
  query(
    'fieldSelector',
    'string',
    'Limits the list of returned objects to those whose fields match, such as metadata.name=a.',
  ),
  query('labelSelector', 'string', 'Limits the list of returned objects to those whose labels match.'),
  query('limit', 'integer', 'Most objects in one answer; the rest comes with the continue token.'),
  query('resourceVersion', 'string', 'Version that the answer is at or follows; empty means the newest.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion counts: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'boolean', 'Makes a watch begin with the objects there are, then a bookmark.'),
  query(
    'shardSelector',
    'string',
    'Limits the list to a part of the objects, by a range of hashes of a field.',
  ),
  query('timeoutSeconds', 'integer', 'Ends the request after this many seconds.'),
  query('watch', 'boolean', 'Watch for changes to the described resources: they are sent as they happen.'),

  // Writes
  query('dryRun', 'string', 'All: does everything but keep the result.'),
  query('fieldManager', 'string', 'Name of who makes the change; at most 128 printable characters.'),
  query('fieldValidation', 'string', 'What unknown and repeated fields cause: Ignore, Warn or Strict.'),
  query('force', 'boolean', 'Takes over fields that another manager has applied; for apply patches only.'),

  // Deletes
  query('gracePeriodSeconds', 'integer', 'Seconds the object has to end by itself; 0 is at once.'),
  query(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'boolean',
    'Deletes an object that cannot be read from the store, without its finalizers being heard.',
  ),
  query('orphanDependents', 'boolean', 'Deprecated, use propagationPolicy: keeps dependents if true.'),
  query('propagationPolicy', 'string', 'What becomes of dependents: Orphan, Background or Foreground.'),
] as const;

const byName: ReadonlyMap<string, Parameter> = new Map(all.map((one) => [one.name, one]));

export const parameter = (name: string): Parameter => byName.get(name)!;

export const listParameters: readonly string[] = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
  'watch',
];
export const readParameters: readonly string[] = ['resourceVersion'];
export const writeParameters: readonly string[] = ['dryRun', 'fieldManager', 'fieldValidation'];
export const patchParameters: readonly string[] = [...writeParameters, 'force'];
export const deleteParameters: readonly string[] = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
];
/** deletecollection takes the parameters of a list. */
export const deleteCollectionParameters: readonly string[] = [
  ...deleteParameters,
  ...listParameters.filter((name) => name !== 'allowWatchBookmarks' && name !== 'watch'),
];

/** Media types of answers: a client names the one it wants in its Accept header. */
export const answerTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

/** Media types of a watch. Lists name them, too, because a list with watch=true is a watch. */
export const streamTypes: readonly string[] = [
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

/**
 * Parameters that are repeated at each operation instead of referenced: kubectl looks for them there to detect
 * support for dry run and field validation, and old versions do not follow references.
 */
export const inlineParameters: ReadonlySet<string> = new Set(patchParameters);
