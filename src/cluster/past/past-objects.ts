/** Objects as they were: `wherry at TIME get …`. Lists of a version are asked for by `resourceVersionMatch=Exact`. */
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { writeYaml } from '../../api/text/yaml-writing.ts';
import { StartError } from '../shared/start-error.ts';
import { terminalJson, terminalText } from '../shared/terminal-text.ts';
import { AskedServer, type ServerChoice } from './asked-server.ts';
import { momentText } from './moment.ts';

const pageObjects = 500;
const discovered = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export interface AtQuestion extends ServerChoice {
  /** When: a time, or the number of a version. */
  readonly moment: string;
  /** Resources with commas between, `KIND/NAME`, or `all`. */
  readonly what: string;
  readonly objects: readonly string[];
  readonly namespace?: string | undefined;
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly shape?: 'text' | 'wide' | 'json' | 'yaml' | 'name';
}

/** A kind, as the server's discovery tells it. */
interface ListedKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly names: readonly string[];
  readonly categories: readonly string[];
}

interface Asked {
  readonly kind: ListedKind;
  /** One object; undefined: all. */
  readonly name: string | undefined;
}

interface Table {
  readonly columns: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: { readonly cells: readonly unknown[]; readonly namespace: string }[];
}

export async function askAt(question: AtQuestion): Promise<string> {
  const server = new AskedServer(question);
  const version = await versionOf(server, question.moment);
  const asked = await askedKinds(server, question);
  const { shape = 'text' } = question;
  if (shape === 'text' || shape === 'wide') return tables(server, version, asked, question, shape === 'wide');
  const objects: JsonObject[] = [];
  for (const one of asked) objects.push(...(await objectsOf(server, version, one, question)));
  if (shape === 'name') return objects.map((object) => `${terminalText(nameOf(object))}\n`).join('');
  const isOne = asked.length === 1 && asked[0]!.name !== undefined;
  const value = isOne ? objects[0] : { kind: 'List', apiVersion: 'v1', metadata: {}, items: objects };
  return shape === 'json' ? terminalJson(value, 2) : writeYaml(value);
}

async function versionOf(server: AskedServer, moment: string): Promise<string> {
  if (/^\d{1,15}$/.test(moment)) return moment;
  const query = new URLSearchParams({ time: momentText(moment, 'the time') });
  return String(((await server.get(`/wherry/history?${query}`)) as JsonObject)['version']);
}

const listOf = (value: unknown, member: string): JsonObject[] => {
  const list = isJsonObject(value) ? value[member] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};

async function discoveredKinds(server: AskedServer): Promise<ListedKind[]> {
  const answers = [await server.get('/api', discovered), await server.get('/apis', discovered)];
  return answers
    .flatMap((answer) => listOf(answer, 'items'))
    .flatMap((group) => listOf(group, 'versions').map((version) => ({ group, version })))
    .flatMap(({ group: { metadata }, version }) =>
      listOf(version, 'resources').flatMap((one): ListedKind[] => {
        const { resource, singularResource, shortNames, categories, verbs, scope, responseKind } = one;
        if (!Array.isArray(verbs) || !verbs.includes('list')) return [];
        const kind = isJsonObject(responseKind) ? String(responseKind['kind']) : '';
        const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
        return [
          {
            group: isJsonObject(metadata) ? String(metadata['name'] ?? '') : '',
            version: String(version['version']),
            resource: String(resource),
            kind,
            namespaced: scope === 'Namespaced',
            names: [String(resource), String(singularResource), kind.toLowerCase(), ...texts(shortNames)],
            categories: texts(categories),
          },
        ];
      }),
    );
}

/** `pods`, `pods,services`, `pod a b` or `pod/a service/b`. */
async function askedKinds(server: AskedServer, { what, objects }: AtQuestion): Promise<Asked[]> {
  const kinds = await discoveredKinds(server);
  if (!what.includes('/')) return kindsOf(kinds, what, objects);
  return [what, ...objects].flatMap((one) => {
    const [word = '', name, ...more] = one.split('/');
    if (!name || more.length)
      throw new StartError(`objects are named as KIND/NAME, not ${JSON.stringify(one)}`);
    return kindsOf(kinds, word, [name]);
  });
}

function kindsOf(kinds: readonly ListedKind[], words: string, names: readonly string[]): Asked[] {
  const found = words.split(',').flatMap((one) => {
    const [resource, ...group] = one.toLowerCase().split('.');
    const ofCategory = firstVersions(kinds.filter(({ categories }) => categories.includes(one)));
    const named = kinds.find(
      (kind) => kind.names.includes(resource!) && (!group.length || kind.group === group.join('.')),
    );
    if (!named && ofCategory.length === 0)
      throw new StartError(`the server has no resource ${JSON.stringify(one)}`);
    return named ? [named] : ofCategory;
  });
  return found.flatMap((kind): Asked[] =>
    names.length ? names.map((one) => ({ kind, name: one })) : [{ kind, name: undefined }],
  );
}

/** The version that comes first is the one that the server prefers. */
function firstVersions(kinds: readonly ListedKind[]): ListedKind[] {
  const isSame = (a: ListedKind, b: ListedKind): boolean => a.resource === b.resource && a.group === b.group;
  return kinds.filter((kind, i) => kinds.findIndex((other) => isSame(kind, other)) === i);
}

/** Every page of a list at a version. */
async function* pages(
  server: AskedServer,
  version: string,
  { kind, name }: Asked,
  { namespace = 'default', allNamespaces, selector }: AtQuestion,
  accept?: string,
): AsyncGenerator<JsonObject> {
  const { group, version: apiVersion, resource, namespaced } = kind;
  const root = group ? `/apis/${group}/${apiVersion}` : `/api/${apiVersion}`;
  const place = namespaced && !allNamespaces ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const query = new URLSearchParams({
    limit: String(pageObjects),
    resourceVersion: version,
    resourceVersionMatch: 'Exact',
  });
  if (selector) query.set('labelSelector', selector);
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  for (;;) {
    const page = (await server.get(`${root}${place}/${resource}?${query}`, accept)) as JsonObject;
    yield page;
    const { metadata } = page;
    const next = isJsonObject(metadata) ? metadata['continue'] : undefined;
    if (typeof next !== 'string' || !next) return;
    for (const parameter of ['resourceVersion', 'resourceVersionMatch']) query.delete(parameter);
    query.set('continue', next);
  }
}

async function objectsOf(
  server: AskedServer,
  version: string,
  asked: Asked,
  question: AtQuestion,
): Promise<JsonObject[]> {
  const { group, version: apiVersion, kind } = asked.kind;
  const found: JsonObject[] = [];
  for await (const page of pages(server, version, asked, question))
    for (const item of listOf(page, 'items'))
      found.push({ apiVersion: group ? `${group}/${apiVersion}` : apiVersion, kind, ...item });
  if (asked.name !== undefined && found.length === 0) throw notThere(asked, question);
  return found;
}

const notThere = ({ kind: { resource, group }, name }: Asked, { moment }: AtQuestion): StartError =>
  new StartError(`${resource}${group && `.${group}`} ${JSON.stringify(name)} was not there at ${moment}`);

/** `deployment.apps/web`, as kubectl prints it. */
function nameOf({ apiVersion, kind, metadata }: JsonObject): string {
  const [group, version] = String(apiVersion).split('/');
  const name = isJsonObject(metadata) ? String(metadata['name']) : '';
  return `${String(kind).toLowerCase()}${version === undefined ? '' : `.${group}`}/${name}`;
}

async function tables(
  server: AskedServer,
  version: string,
  asked: readonly Asked[],
  question: AtQuestion,
  isWide: boolean,
): Promise<string> {
  const texts: string[] = [];
  for (const one of asked) {
    const table = await tableOf(server, version, one, question);
    if (one.name !== undefined && table.rows.length === 0) throw notThere(one, question);
    if (table.rows.length)
      texts.push(tableText(table, isWide, question.allNamespaces === true && one.kind.namespaced));
  }
  return texts.length ? texts.join('\n') : `There were none of ${question.what} at ${question.moment}.\n`;
}

async function tableOf(
  server: AskedServer,
  version: string,
  asked: Asked,
  question: AtQuestion,
): Promise<Table> {
  let columns: Table['columns'] = [];
  const rows: Table['rows'] = [];
  for await (const page of pages(server, version, asked, question, asTable)) {
    const defined = listOf(page, 'columnDefinitions');
    if (defined.length)
      columns = defined.map(({ name, priority }) => ({
        name: String(name),
        priority: Number(priority ?? 0),
      }));
    for (const { cells, object } of listOf(page, 'rows')) {
      const metadata = isJsonObject(object) ? object['metadata'] : undefined;
      const namespace = isJsonObject(metadata) ? String(metadata['namespace'] ?? '') : '';
      rows.push({ cells: Array.isArray(cells) ? cells : [], namespace });
    }
  }
  return { columns, rows };
}

function tableText({ columns, rows }: Table, isWide: boolean, withNamespace: boolean): string {
  const shown = columns
    .map((column, i) => ({ ...column, i }))
    .filter(({ priority }) => isWide || priority === 0);
  const lines = [
    [...(withNamespace ? ['NAMESPACE'] : []), ...shown.map(({ name }) => terminalText(name.toUpperCase()))],
    ...rows.map(({ cells, namespace }) => [
      ...(withNamespace ? [terminalText(namespace)] : []),
      ...shown.map(({ i }) => terminalText(String(cells[i] ?? ''))),
    ]),
  ];
  const widths = lines[0]!.map((_, i) => lines.reduce((most, line) => Math.max(most, line[i]!.length), 0));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}
