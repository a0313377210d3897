/** Checks of pod security: the form of one, and what they share. Each finds what a level of the standards forbids. */
import type {
  EphemeralContainer,
  ObjectMeta,
  PodSecurityContext,
  PodSpec,
  SecurityContext,
} from '../../generated/types.ts';

/** What a check says of a pod that breaks it. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface PodCheck {
  /** Checks of one level run in the order of their ids. */
  readonly id: string;
  readonly level: 'baseline' | 'restricted';
  /** The minor version of Kubernetes that was the first to ask for it. */
  readonly since: number;
  /** A baseline check that this one covers, and that does not run beside it. */
  readonly replaces?: string;
  /** @param minor the version of the policy; what a check asks for may differ by it */
  run(pod: CheckedPod, minor: number): Violation | undefined;
}

/** What containers of all sorts have in common. */
type AnyContainer = Pick<
  EphemeralContainer,
  'name' | 'ports' | 'livenessProbe' | 'readinessProbe' | 'startupProbe' | 'lifecycle'
> & { readonly securityContext: SecurityContext; readonly name: string };

/** A pod, or a template of one, as checks look at it. */
export class CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly security: PodSecurityContext;
  /** Init containers, containers and ephemeral containers, in this order. */
  readonly containers: readonly AnyContainer[];

  constructor(
    metadata: ObjectMeta | undefined,
    readonly spec: PodSpec,
  ) {
    this.annotations = metadata?.annotations ?? {};
    this.security = spec.securityContext ?? {};
    this.containers = [
      ...(spec.initContainers ?? []),
      ...(spec.containers ?? []),
      ...(spec.ephemeralContainers ?? []),
    ].map((container) => ({
      ...container,
      name: container.name ?? '',
      securityContext: container.securityContext ?? {},
    }));
  }

  /** Whether it runs in a user namespace of its own, where root is not the node's root. */
  get hasOwnUsers(): boolean {
    return this.spec.hostUsers === false;
  }

  get isWindows(): boolean {
    return this.spec.os?.name === 'windows';
  }

  /** The names of containers that a test holds for. */
  named(test: (security: SecurityContext) => boolean): string[] {
    return this.containers.filter(({ securityContext }) => test(securityContext)).map(({ name }) => name);
  }
}

/** From this version on, checks that make sense on Linux only skip pods that say they are for Windows. */
export const systemsKnownSince = 25;
/** From this version on, some checks allow more to pods with users of their own. */
export const ownUsersSince = 35;

export const plural = (one: string, many: string, count: number): string => (count === 1 ? one : many);

export const quoted = (items: readonly string[]): string => `"${items.join('", "')}"`;

export const sortedSet = (items: Iterable<string>): string[] => [...new Set(items)].sort();

/** `container "a"`, `containers "a", "b"`. */
export const containersText = (names: readonly string[]): string =>
  `${plural('container', 'containers', names.length)} ${quoted(names)}`;

/** `pod`, `container "a"`, `pod and container "a"`. */
export const settersText = (pod: boolean, names: readonly string[]): string =>
  [...(pod ? ['pod'] : []), ...(names.length ? [containersText(names)] : [])].join(' and ');
