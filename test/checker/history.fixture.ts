/** Small histories for the checker's tests, one line per change. */
import type { Json } from '../support/http.ts';
import { type Change, Log, type Told, textOf, versionOf } from './log.ts';
import type { ListOperation, ReadOperation, WriteOperation } from './operations.ts';

const key = 'configmaps/default/a';
export const other = 'configmaps/default/b';

interface Content {
  readonly version: number;
  readonly mark: string;
  readonly of?: string;
  readonly uid?: string;
  readonly base?: string;
  readonly colour?: string;
}

/** An object of the traffic as the server returns it. */
export function objectOf({
  version,
  mark,
  of = key,
  uid = `uid-${of}`,
  base = 'base',
  colour,
}: Content): Json {
  const [, namespace, name] = of.split('/');
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: String(version),
      ...(colour ? { labels: { colour } } : {}),
      annotations: { base, mark },
    },
  };
}

export const changed = (content: Content): Change => ({
  version: content.version,
  key: content.of ?? key,
  object: objectOf(content),
});

export const deleted = (version: number, of = key): Change => ({ version, key: of, object: undefined });

export const logOf = (...changes: Change[]): Log => new Log(10, changes);

/** The watch event for a change to this content. */
export const told = (type: string, content: Content): Told => {
  const object = objectOf(content);
  return { type, version: versionOf(object), key: content.of ?? key, text: textOf(object) };
};

type Times = readonly [begun: number, ended: number];

/** A write, acknowledged by default. */
export const write = (
  verb: WriteOperation['verb'],
  [begun, ended]: Times,
  content: Content,
  rest: Partial<WriteOperation> = {},
): WriteOperation => {
  const { mark, base = 'base', colour = null, version, of = key } = content;
  const object = objectOf(content);
  return {
    kind: 'write',
    client: 0,
    verb,
    key: of,
    begun,
    ended,
    wanted: verb === 'delete' ? undefined : { mark, ...(verb === 'patch' ? {} : { base, colour }) },
    expected: undefined,
    outcome: {
      ok: true,
      version: verb === 'delete' ? undefined : version,
      uid: object.metadata.uid,
      ...(verb === 'delete' ? {} : { text: textOf(object) }),
    },
    ...rest,
  };
};

export const read = ([begun, ended]: Times, content: Content | undefined, of = key): ReadOperation => {
  const object = content && objectOf(content);
  const found = object && { version: versionOf(object), text: textOf(object) };
  return { kind: 'read', client: 1, key: of, begun, ended, found };
};

export const list = (
  [begun, ended]: Times,
  versions: readonly number[],
  contents: readonly Content[],
  rest: Partial<ListOperation> = {},
): ListOperation => ({
  kind: 'list',
  client: 2,
  scope: { resource: 'configmaps' },
  begun,
  ended,
  versions,
  exact: undefined,
  items: contents.map((content) => told('', content)),
  cut: false,
  ...rest,
});
