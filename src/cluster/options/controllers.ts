/** Which controllers run beside the server, and how. */
import type { ControllerSettings } from '../../controllers/shared/controller.ts';
import { group, handedIn, optionFor } from './option.ts';
import { items, on } from './values.ts';

const option = optionFor('up', 'serve');

export const controllerOptions = {
  /**
   * Which controllers run beside the API server: all, none, or those of a list such as `['-job', '-scheduler']`
   * (all but these), `['namespace']` (these alone) or `['housekeeping']` (those without which objects that are deleted
   * stay, as `wherry serve` runs them). Default true.
   */
  controllers: option<boolean | readonly string[]>({
    flag: 'controllers',
    value: {
      shown: 'LIST',
      form: 'text',
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
