/** The paths of the kit over HTTP: what each does, and how it is described. */
import { badRequest, StatusError } from '../api/errors/errors.ts';
import type { JsonObject } from '../api/text/object.ts';
import { placeOf } from '../cluster/manifests/object-place.ts';
import type { Query } from '../server/wire/query.ts';
import type { ChaosOptions } from './chaos.ts';
import { durationMs } from './durations.ts';
import type { Fault, FaultRule } from './faults.ts';
import type { Kit } from './kit.ts';
import { eventsAbout } from './object-events.ts';
import type { RequestMatch } from './request-match.ts';
import { timelineText } from './timeline.ts';

const settledDefaultMs = 10_000;
const settledMaxMs = 600_000;
const nameCharsMax = 256;

export interface TestingCall {
  readonly kit: Kit;
  /** Path parameters by name. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: JsonObject;
}

interface Described {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path below the root; segments in braces are parameters. */
  readonly path: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Schemas of the fields of the body. */
  readonly body?: Readonly<Record<string, object>>;
  readonly handle: (call: TestingCall) => unknown;
}

export class TestingRoute {
  readonly method: Described['method'];
  readonly #segments: readonly string[];

  constructor(readonly described: Described) {
    this.method = described.method;
    this.#segments = described.path.split('/').filter(Boolean);
  }

  /** The parameters of a path; undefined when the path does not match. */
  parameters(segments: readonly string[]): Record<string, string> | undefined {
    if (segments.length !== this.#segments.length) return undefined;
    const found: Record<string, string> = {};
    for (const [i, wanted] of this.#segments.entries()) {
      const segment = segments[i]!;
      if (wanted.startsWith('{')) found[wanted.slice(1, -1)] = segment;
      else if (wanted !== segment) return undefined;
    }
    return found;
  }

  handle(call: TestingCall): unknown {
    return this.described.handle(call);
  }
}

const text = { type: 'string' };
const truth = { type: 'boolean' };
const whole = { type: 'integer' };

const matchQuery = {
  verb: 'get, list, watch, create, update, patch, delete or deletecollection; * stands for any characters',
  kind: 'Pod or pods',
  subresource: 'status, scale and so on',
  namespace: 'the namespace',
  name: 'the name of the object',
  userAgent: 'the user agent; * stands for any characters',
  user: 'the name of the user',
  own: 'true: requests of the nodes of this process as well',
};
const matchFields = Object.fromEntries(
  Object.entries(matchQuery).map(([name, description]) => [
    name,
    { ...(name === 'own' ? truth : text), description },
  ]),
);
const objectQuery = { object: 'Kind/name or Kind/namespace/name' };

const shownFault = ({ id, hits, rule }: Fault): object => ({ id, hits, rule });

const clockState = ({ kit }: TestingCall): object => ({
  now: new Date(kit.clock.nowMs()).toISOString(),
  frozen: !kit.clock.isRunning,
});

function matchOf({ query }: TestingCall): RequestMatch {
  const given = Object.keys(matchQuery).filter((name) => query.has(name));
  return Object.fromEntries(given.map((name) => [name, name === 'own' ? query.flag(name) : query.get(name)]));
}

function snapshotName({ parameters: { name = '' } }: TestingCall): string {
  if (name.length > nameCharsMax) throw badRequest(`a name may have ${nameCharsMax} characters`);
  return name;
}

const placeAsked = ({ kit, query }: TestingCall) => placeOf(kit.registry, query.get('object') ?? '');

const list: readonly Described[] = [
  {
    method: 'GET',
    path: '',
    summary: 'What can be asked for here',
    handle: () => ({
      paths: list.map(({ method, path, summary }) => ({ method, path: `/wherry/testing/${path}`, summary })),
    }),
  },
  {
    method: 'GET',
    path: 'snapshots',
    summary: 'The names of the snapshots',
    handle: ({ kit }) => ({ snapshots: [...kit.snapshots.keys()] }),
  },
  {
    method: 'POST',
    path: 'snapshots/{name}',
    summary: 'Takes a snapshot of all objects',
    handle: (call) => call.kit.snapshot(snapshotName(call)),
  },
  {
    method: 'DELETE',
    path: 'snapshots/{name}',
    summary: 'Forgets a snapshot',
    handle: (call) => {
      if (!call.kit.snapshots.delete(snapshotName(call))) throw unknown('snapshot', snapshotName(call));
    },
  },
  {
    method: 'POST',
    path: 'snapshots/{name}/restore',
    summary: 'Returns to a snapshot; watches of clients end with 410',
    handle: (call) => {
      if (!call.kit.snapshots.has(snapshotName(call))) throw unknown('snapshot', snapshotName(call));
      return call.kit.restore(snapshotName(call));
    },
  },
  {
    method: 'POST',
    path: 'reset',
    summary: 'Returns to the state after the start, without faults and records, and with the time of day',
    handle: ({ kit }) => kit.reset(),
  },
  {
    method: 'GET',
    path: 'settled',
    summary: 'Answers when controllers, scheduler and nodes have nothing left to do; 504 says who has',
    query: { timeoutMs: `how long to wait; default ${settledDefaultMs}` },
    handle: async ({ kit, query }) => {
      const timeoutMs = query.integer('timeoutMs') ?? settledDefaultMs;
      if (timeoutMs < 0 || timeoutMs > settledMaxMs)
        throw badRequest(`timeoutMs is from 0 to ${settledMaxMs}`);
      await kit.convergence.reached(timeoutMs).catch((error: Error) => {
        throw new StatusError(504, 'Timeout', error.message);
      });
      return { settled: true };
    },
  },
  { method: 'GET', path: 'clock', summary: 'The time of the cluster', handle: clockState },
  {
    method: 'POST',
    path: 'clock',
    summary: 'Freezes the clock, moves it forward, or lets it run again',
    body: {
      freeze: { ...truth, description: 'stop it' },
      advance: { ...text, description: 'move it by a duration such as 10m or 1h30m' },
      thaw: { ...truth, description: 'let it run again' },
    },
    handle: async (call) => {
      const { freeze, advance, thaw, ...other } = call.body;
      const [unknownName] = Object.keys(other);
      if (unknownName !== undefined) throw badRequest(`a clock cannot ${JSON.stringify(unknownName)}`);
      const ms = advance === undefined ? undefined : durationMs(advance);
      if (freeze === true) call.kit.clock.freeze();
      if (ms !== undefined) await call.kit.clock.advance(ms);
      if (thaw === true) call.kit.clock.thaw();
      return clockState(call);
    },
  },
  {
    method: 'GET',
    path: 'faults',
    summary: 'The faults in force',
    handle: ({ kit }) => ({ faults: kit.faults.list().map(shownFault) }),
  },
  {
    method: 'POST',
    path: 'faults',
    summary: 'Adds a fault: exactly one effect, for the requests that match',
    body: {
      ...matchFields,
      status: { ...whole, description: 'answer this code; nothing is done' },
      reason: text,
      message: text,
      retryAfterSeconds: whole,
      delayMs: { ...whole, description: 'wait before the request is handled' },
      close: { ...truth, description: 'close the connection; nothing is done' },
      loseAnswer: { ...truth, description: 'carry the request out and close the connection' },
      cutWatch: { ...truth, description: 'end watches without a word' },
      expireWatch: { ...truth, description: 'end watches with 410' },
      refuseWrites: { ...truth, description: 'the store refuses writes, as a full disk does' },
      times: { ...whole, description: 'for how many requests; default: all' },
      after: { ...whole, description: 'how many matching requests pass first' },
    },
    handle: ({ kit, body }) => shownFault(kit.faults.add(body as unknown as FaultRule)),
  },
  {
    method: 'DELETE',
    path: 'faults',
    summary: 'Removes all faults',
    handle: ({ kit }) => kit.faults.clear(),
  },
  {
    method: 'DELETE',
    path: 'faults/{id}',
    summary: 'Removes a fault',
    handle: ({ kit, parameters }) => {
      const fault = kit.faults.list().find(({ id }) => id === parameters.id);
      if (!fault) throw unknown('fault', parameters.id!);
      fault.remove();
    },
  },
  {
    method: 'POST',
    path: 'chaos',
    summary: 'Lets requests, watches, containers and nodes fail at random, the same way for the same seed',
    body: {
      seed: text,
      rate: { type: 'number', description: 'share of requests at which something happens; default 0.1' },
      effects: {
        type: 'array',
        items: { type: 'object' },
        description:
          'what may happen: status, delayMs, close, loseAnswer, cutWatch, expireWatch, killContainer or dropNodeMs',
      },
      match: { type: 'object', properties: matchFields },
    },
    handle: ({ kit, body: { seed = '', rate, match, effects } }) =>
      kit.faults.chaos(String(seed), { rate, match, effects } as ChaosOptions),
  },
  {
    method: 'POST',
    path: 'nodes/{name}/drop',
    summary: 'Stops a node of this process as a power failure would',
    handle: ({ kit, parameters }) => kit.faults.dropNode(parameters.name!),
  },
  {
    method: 'POST',
    path: 'nodes/{name}/start',
    summary: 'Starts a node again, or a new simulated one',
    handle: ({ kit, parameters }) => kit.faults.restartNode(parameters.name!),
  },
  {
    method: 'POST',
    path: 'pods/{namespace}/{name}/kill',
    summary: 'Kills a container of a pod',
    query: { container: 'its name; default: the first container' },
    handle: ({ kit, parameters: { namespace = '', name = '' }, query }) =>
      kit.faults.killContainer({ namespace, name }, query.get('container')),
  },
  {
    method: 'GET',
    path: 'requests',
    summary: 'The requests that the cluster got, oldest first',
    query: matchQuery,
    handle: (call) => ({ requests: call.kit.requests.matching(matchOf(call)) }),
  },
  {
    method: 'DELETE',
    path: 'requests',
    summary: 'Forgets the requests so far',
    handle: ({ kit }) => kit.requests.clear(),
  },
  {
    method: 'GET',
    path: 'history',
    summary: 'Every version of an object, with what it changed and who wrote it',
    query: objectQuery,
    handle: (call) => ({ versions: call.kit.history.of(placeAsked(call)) }),
  },
  {
    method: 'GET',
    path: 'timeline',
    summary: 'What happened to an object and by whom, as text for people',
    query: objectQuery,
    handle: (call) => {
      const place = placeAsked(call);
      const { kit } = call;
      const { namespace, name, kind } = place;
      const requests = kit.requests.matching({ kind: kind.kind, namespace, name, own: true });
      return {
        timeline: timelineText(place, kit.history.of(place), requests, eventsAbout(kit.registry, place)),
      };
    },
  },
];

const unknown = (what: string, name: string): StatusError =>
  new StatusError(404, 'NotFound', `there is no ${what} ${JSON.stringify(name)}`);

export const testingRoutes: readonly TestingRoute[] = list.map((described) => new TestingRoute(described));
