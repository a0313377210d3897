/** Which controllers run beside the server, and how. */
import type { ControllerSettings } from '../../controllers/shared/controller.ts';
import { group, handedIn, optionFor } from './option.ts';
import { count, decimal, items, on } from './values.ts';

const option = optionFor('up', 'serve');

export const controllerOptions = {
  /**
   * Which controllers run beside the API server: all, none, or those of a list such as `['-job', '-scheduler']`
   * (all but these), `['namespace']` (these alone) or `['housekeeping']` (those without which objects that are deleted
   * stay, as `wherry serve` runs them). Default true.
   */
  controllers: option<boolean | readonly string[]>({
    flag: 'controllers',
    needed: ['up', 'serve', 'test'],
    value: {
      shown: 'LIST',
      form: 'text',
      joins: ',',
      completes: 'controllers',
      read: ([given = ''], flag, refuse) =>
        items(given).length ? items(given) : refuse(`${flag} must name controllers, or be * or none`),
    },
    text: 'which controllers run: names, * for all, housekeeping for those the API needs, none, or -name\nfor the default without that one (default: up *, serve housekeeping)',
  }),
  /**
   * Elect one of the servers on the same store to run the controllers, by a Lease. Default: with the store `etcd`; the
   * others can be open in one server only.
   */
  leaderElection: option<boolean>({
    flag: 'leader-elect',
    value: on,
    text: 'agree with other servers on the same store about who runs the controllers (always done with\n--store etcd)',
  }),
  /** Periods and bounds of single controllers. */
  controllerSettings: group<Partial<ControllerSettings>>({
    nodeGraceMs: handedIn(),
    nodeEvictionRate: option({
      flag: 'node-eviction-rate',
      value: decimal('RATE', 1_000),
      text: 'nodes per second whose pods are evicted when they are lost, in each zone',
      default: '0.1',
    }),
    secondaryNodeEvictionRate: option({
      flag: 'secondary-node-eviction-rate',
      value: decimal('RATE', 1_000),
      text: 'the same while many nodes of a large zone are lost; in a small one no pods are evicted then\n',
      default: '0.01',
    }),
    unhealthyZoneThreshold: option({
      flag: 'unhealthy-zone-threshold',
      value: decimal('SHARE', 1),
      text: 'the share of lost nodes, at least three, that counts as many',
      default: '0.55',
    }),
    largeClusterSizeThreshold: option({
      flag: 'large-cluster-size-threshold',
      value: count('N', 1_000_000),
      text: 'a zone with more nodes than this is large',
      default: '50',
    }),
    namespaceGraceMs: handedIn(),
    collectOnlyDeletedOwners: handedIn(),
    finishedPodsMax: handedIn(),
    eventLifeMs: handedIn(),
    autoscalerSyncMs: handedIn(),
    serviceAccountTokenSecrets: option({
      flag: 'service-account-token-secrets',
      value: on,
      text: 'make a secret with a token for every account, as Kubernetes 1.1 did',
    }),
  }),
};
