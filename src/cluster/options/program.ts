/** Options that programs alone hand in: functions, users, kinds, and settings that few clusters change. */
import type { StaticUser } from '../../access/authentication/static-tokens.ts';
import type { Sources } from '../../registry/registry.ts';
import type { CustomKind } from '../shared/custom-kind.ts';
import type { LogOptions } from '../shared/log.ts';
import { group, handedIn } from './option.ts';
import type { CertificateFiles, KubeletSettings, ServerSettings } from './server-settings.ts';

const certificate = group<CertificateFiles>({ certFile: handedIn(), keyFile: handedIn() });

export const extensionOptions = {
  /** Users of the secure door that get a kubeconfig (`Cluster.kubeconfigFor`), with keys that are in memory only. */
  users: group<readonly StaticUser[]>({
    name: handedIn(),
    uid: handedIn(),
    groups: handedIn(),
    token: handedIn(),
  }),
  /** Kinds of the program's own, made by `customKind`, that the cluster serves beside the built-in ones. */
  kinds: handedIn<readonly CustomKind[]>(),
};

export const settingOptions = {
  /** Settings that kube-apiserver has as flags and few clusters change. */
  apiServer: group<ServerSettings>({
    corsAllowedOrigins: handedIn(),
    strictTransportSecurity: handedIn(),
    goawayChance: handedIn(),
    gitVersion: handedIn(),
    emulatedVersion: handedIn(),
    watchSecondsMin: handedIn(),
    watchLists: handedIn(),
    compressesAnswers: handedIn(),
    notReadyTolerationSeconds: handedIn(),
    unreachableTolerationSeconds: handedIn(),
    kubernetesNodePort: handedIn(),
    kubernetesEndpoints: handedIn(),
    shutdownDelayMs: handedIn(),
    kubelet: group<KubeletSettings>({
      caFile: handedIn(),
      client: certificate,
      addressTypes: handedIn(),
      timeoutMs: handedIn(),
    }),
    proxyClient: certificate,
  }),
};

export const watcherOptions = {
  /** Called with failures of the server itself, not with refused requests. Default: they are dropped. */
  onError: handedIn<(error: Error) => void>(),
  /**
   * Called once, when the cluster cannot go on because it has lost its store. From then on it answers requests with 503,
   * and is best closed. Default: `onError` is called.
   */
  onFatal: handedIn<(error: Error) => void>(),
  /** Called when there are more objects or bytes than the limits `objectsWarned` and `bytesWarned`. Default: nothing. */
  onWarning: handedIn<(message: string) => void>(),
  /** Called with what happens in the cluster: configuration, nodes, pods, slow requests. Default: no log. */
  log: group<LogOptions>({ level: handedIn(), write: handedIn() }),
  /** Clock, uids and random name suffixes, for tests that need the same ones each time. */
  chance: group<Partial<Sources>>({ nowMs: handedIn(), uid: handedIn(), randomBelow: handedIn() }),
};
