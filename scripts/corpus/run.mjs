/** Sends the manifests of a folder to one server, or to two side by side, and notes what they answer. */
import { namespaceOf, requestOf, ways } from './api-server.mjs';
import { differencesOf } from './differences.mjs';

const documentsMax = 500;

const isDefinition = ({ value }) =>
  value.kind === 'CustomResourceDefinition' && value.apiVersion.startsWith('apiextensions.k8s.io/');
const isNamespace = ({ value }) => value.kind === 'Namespace' && value.apiVersion === 'v1';
/** What other objects name, and must be there when these are tried. */
const isNamed = ({ value }) => ['ServiceAccount', 'PriorityClass', 'RuntimeClass'].includes(value.kind);
/** What changes or refuses the objects that come after it. */
const isGate = ({ value }) =>
  /^(admissionregistration|apiregistration)\.k8s\.io\//.test(value.apiVersion) ||
  ['ResourceQuota', 'LimitRange', 'FlowSchema', 'PriorityLevelConfiguration'].includes(value.kind);

/** `servers` are the one whose answers are reported and, perhaps, the one that it is compared with. */
export async function sendAll({ objects }, servers) {
  const run = new Run(servers);
  const before = await servers[0].usage();
  const begun = performance.now();
  await run.discover();
  const definitions = objects.filter(isDefinition);
  await run.stage(definitions);
  await run.established(definitions);
  const others = objects.filter((object) => !isDefinition(object) && !isNamespace(object));
  await run.stage([...objects.filter(isNamespace), ...run.missingNamespaces(objects)]);
  await run.stage(others.filter(isNamed));
  await run.stage(others.filter((object) => !isNamed(object) && !isGate(object)));
  await run.documents(definitions);
  await run.stage(others.filter(isGate));
  const after = await servers[0].usage();
  return {
    ...run.notes,
    definitions: definitions.length,
    others: others.length,
    ms: performance.now() - begun,
    processorMs: after.processorMs - before.processorMs,
    megabytes: Math.max(run.megabytes, after.megabytes),
  };
}

class Run {
  megabytes = 0;
  notes = { requests: 0, refused: [], unknown: new Map(), existing: 0, differences: [], slowest: undefined };

  constructor(servers) {
    this.servers = servers;
  }

  discover() {
    return Promise.all(this.servers.map((server) => server.discover()));
  }

  /** Sends all objects in every way, one way after the other. */
  async stage(objects) {
    const [server] = this.servers;
    const known = objects.filter((object) => server.kindOf(object.value));
    for (const { value } of objects.filter((object) => !server.kindOf(object.value))) {
      const kind = `${value.apiVersion} ${value.kind}`;
      this.notes.unknown.set(kind, (this.notes.unknown.get(kind) ?? 0) + 1);
    }
    for (const way of Object.keys(ways)) for (const object of known) await this.#sendObject(object, way);
    const { megabytes } = await server.usage();
    this.megabytes = Math.max(this.megabytes, megabytes);
  }

  async #sendObject(object, way) {
    const request = requestOf(object, this.servers[0].kindOf(object.value), way);
    if (request) await this.#send(object, way, request);
  }

  async #send(object, way, request) {
    const answers = await Promise.all(this.servers.map((server) => answerOf(server, request)));
    const [answer] = answers;
    this.notes.requests += 1;
    if (!this.notes.slowest || answer.ms > this.notes.slowest.ms)
      this.notes.slowest = { ms: answer.ms, way, object };
    if (answer.status === 409 && answer.body?.reason === 'AlreadyExists') this.notes.existing += 1;
    else if (answer.status >= 300) this.notes.refused.push({ object, way, answer });
    for (const difference of answers[1] ? differencesOf(...answers, object.value) : [])
      this.notes.differences.push({ object, way, difference });
  }

  /** Waits for definitions that were accepted; one that is not established is reported as refused. */
  async established(definitions) {
    const failed = new Set(
      this.notes.refused
        .filter(({ way }) => way === 'create')
        .map(({ object }) => object.value.metadata?.name),
    );
    const names = new Map();
    for (const definition of definitions)
      if (!failed.has(definition.value.metadata?.name))
        names.set(definition.value.metadata?.name, definition);
    const waits = this.servers.map((server) => server.established([...names.values()]));
    const [missing] = await Promise.all(waits);
    for (const object of missing)
      this.notes.refused.push({
        object,
        way: 'create',
        answer: { status: 0, body: { message: 'the definition was not established in time' } },
      });
  }

  missingNamespaces(objects) {
    const [server] = this.servers;
    const made = new Set(objects.filter(isNamespace).map(({ value }) => value.metadata?.name));
    const names = objects
      .filter(({ value }) => server.kindOf(value)?.isNamespaced)
      .map(({ value }) => value.metadata?.namespace)
      .filter((name) => typeof name === 'string' && name !== '' && !made.has(name));
    return [...new Set(names)].map(namespaceOf);
  }

  /** Reads what describes the kinds: one bad definition must not take these from all others. */
  async documents(definitions) {
    const versions = definitions
      .flatMap(({ value: { spec } }) => servedOf(spec))
      .map((version) => `/openapi/v3/apis/${version}`);
    const targets = ['/openapi/v2', '/openapi/v3', '/apis', ...new Set(versions)].slice(0, documentsMax);
    for (const target of targets) {
      const object = { file: target, value: {} };
      await this.#send(object, 'get', ['GET', target, undefined, { accept: 'application/json' }]);
    }
  }
}

const servedOf = (spec) =>
  (spec?.versions ?? []).filter(({ served }) => served).map(({ name }) => `${spec.group}/${name}`);

/** An answer that never came is one with status 0. */
async function answerOf(server, request) {
  try {
    return await server.send(...request);
  } catch (error) {
    return {
      status: 0,
      body: { message: `${error.message} ${error.cause?.message ?? ''}` },
      warnings: '',
      ms: 0,
    };
  }
}
