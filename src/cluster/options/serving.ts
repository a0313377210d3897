/** What is served, and how requests are answered. */
import type { RuntimeConfig } from '../../api/kinds/runtime-config.ts';
import type { WatchDefault } from '../../registry/verbs/watch.ts';
import type { HistoryBounds } from '../../registry/view/history.ts';
import type { ManagedFieldsMode } from '../../registry/writing.ts';
import { handedIn, optionFor, withMembers } from './option.ts';
import { items, on, oneOf, oneOfSaying, parsed, text, wordFor } from './values.ts';

const option = optionFor('up', 'serve');

export const servingOptions = {
  /** How long and how many changes are kept for watches. Default: 10 minutes, 50,000 changes. */
  history: withMembers(
    option<Partial<HistoryBounds>>({
      flag: 'history',
      value: parsed('AGE,COUNT', 'an age and a count such as 10m,50000', historyBounds),
      text: 'how long and how many changes are kept for watches',
      default: '10m,50000',
      preset: true,
    }),
    { ageMaxMs: handedIn(), changesMax: handedIn(), bytesMax: handedIn() },
  ),
  /**
   * `kubernetes`: the defaults of `createStatus` and `watchStart`, and the few answers in which Kubernetes 1.1 and a
   * current API server differ, are those of a stock API server of today.
   */
  like: option<'kubernetes'>({
    flag: 'like',
    needed: ['serve', 'test'],
    value: oneOfSaying(
      'KIND',
      ['kubernetes'],
      (value) => `a cluster can be like "kubernetes" only, not ${value}`,
    ),
    text: "kubernetes: do as today's Kubernetes where Wherry's contract, the API of 1.1, differs;\nthe same as --create-status 201 --watch-start state",
  }),
  /**
   * The minor of Kubernetes whose API is served, from `1.22` to `1.36`: its versions, kinds, fields and answers, and
   * nothing newer. A patch (`1.29.4`) shows in `/version` alone. Implies `like: 'kubernetes'`. Default: the API of 1.1
   * together with the kinds of today.
   */
  kubernetes: option<string>({
    flag: 'kubernetes',
    needed: ['serve', 'test'],
    value: text('MINOR'),
    text: 'serve the API of this minor of Kubernetes, 1.22 to 1.36, and nothing newer',
  }),
  /**
   * Feature gates that are switched on or off, by the names of the minor: `{ InPlacePodVerticalScaling: true }`. Only
   * with `kubernetes`. `AllAlpha` and `AllBeta` stand for all of a stage. Default: as in that minor.
   */
  featureGates: option<Readonly<Record<string, boolean>>>({
    flag: 'feature-gates',
    value: {
      shown: 'LIST',
      form: 'list',
      read: (given, flag, refuse) =>
        runtimeConfig(given.flatMap(items), (pair) =>
          refuse(
            `${flag} must be names with true or false, such as AllAlpha=true, not ${JSON.stringify(pair)}`,
          ),
        ),
    },
    text: 'with --kubernetes, switch feature gates of that minor on and off: AllAlpha=true',
  }),
  /** What a watch without a `resourceVersion` begins with. Default `history`; with `like`, `state`. */
  watchStart: option<WatchDefault>({
    flag: 'watch-start',
    value: oneOf('WHERE', 'history', 'state'),
    text: 'where a watch without a version begins: history or state (default history)',
  }),
  /** HTTP code of a create: 200, or 201 as a stock API server answers. Default 200; with `like`, 201. */
  createStatus: option<200 | 201>({
    flag: 'create-status',
    value: wordFor('CODE', { 200: 200, 201: 201 }),
    text: 'HTTP code of a create: 200 or 201 (default 200)',
  }),
  /**
   * Whose writes `metadata.managedFields` names: `all`, those since an object was `applied`, or `off`. Default `all`.
   */
  managedFields: option<ManagedFieldsMode>({
    flag: 'managed-fields',
    value: oneOf('MODE', 'all', 'applied', 'off'),
    text: 'whose writes metadata.managedFields names: all, those since an object was applied\n(applied), or off',
    default: 'all',
  }),
  /**
   * Which built-in versions and resources are served, by kube-apiserver's names: `{ 'batch/v1': false }`. `api/all`,
   * `api/ga`, `api/beta` and `api/alpha` stand for all versions of a stage. Default: all that there are.
   */
  runtimeConfig: option<RuntimeConfig>({
    flag: 'runtime-config',
    value: {
      shown: 'LIST',
      form: 'list',
      read: (given, flag, refuse) =>
        runtimeConfig(given.flatMap(items), (pair) =>
          refuse(
            `${flag} must be names with true or false, such as apps/v1=false, not ${JSON.stringify(pair)}`,
          ),
        ),
    },
    text: 'switch built-in versions off and on: apps/v1=false, api/beta=false, batch/v1/jobs=false',
  }),
  /** Serve the dashboard, which shows the cluster to people, at `/ui/` and, for browsers, at `/`. Default true. */
  ui: option<boolean>({
    flag: 'ui',
    value: wordFor('MODE', { on: true, off: false }),
    text: 'the dashboard, which shows the cluster in a browser, at / and /ui/: on or off',
    default: 'on',
  }),
  /**
   * Measure how long each request spends in which phase: answers at the local door carry it as `Server-Timing`, and
   * `/wherry/trace` tells medians, and the phases of the slowest percent, by verb. Default false.
   */
  traceRequests: option<boolean>({
    flag: 'trace-requests',
    value: on,
    text: 'measure the phases of each request, for /wherry/trace and the header Server-Timing',
  }),
  /**
   * Range that services get their addresses from, or one of IPv4 and one of IPv6 with a comma between. Default
   * `10.0.0.0/24`.
   */
  serviceClusterIPRange: option<string>({
    flag: 'service-cluster-ip-range',
    value: text('RANGE'),
    text: 'addresses that services get: a range, or one of IPv4 and one of IPv6, as in\n10.0.0.0/24,fd00::/108',
    default: '10.0.0.0/24',
  }),
  /** Ports that services get on every node. Default `30000-32767`. */
  serviceNodePortRange: option<string>({
    flag: 'service-node-port-range',
    value: text('FIRST-LAST'),
    text: 'ports that services get on every node',
    default: '30000-32767',
    isPassedOn: true,
  }),
};

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** `10m,50000`: changes are kept for ten minutes, but never more than fifty thousand of them. */
function historyBounds(given: string): HistoryBounds | undefined {
  const match = /^(\d{1,6})([smh]),(\d{1,9})$/.exec(given);
  return match
    ? { ageMaxMs: Number(match[1]) * unitsMs[match[2]!]!, changesMax: Number(match[3]) }
    : undefined;
}

/** Pairs such as `apps/v1=false`; without a value, `true`. The last one of a name counts. */
function runtimeConfig(pairs: readonly string[], refuse: (pair: string) => never): RuntimeConfig {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', value = 'true'] = pair.split('=');
      if (value !== 'true' && value !== 'false') refuse(pair);
      return [name, value === 'true'];
    }),
  );
}
