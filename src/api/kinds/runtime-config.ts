/**
 * Which built-in versions and resources are served, in the form of kube-apiserver's `--runtime-config`: pairs of a name
 * and true or false. A name is all versions of a stage (`api/all`, `api/ga`, `api/beta`, `api/alpha`), a version (`v1`,
 * `apps/v1`), or a resource of a version (`apps/v1/deployments`). The more a name says, the more it counts.
 */
import { isServedGroup } from './builtin-groups.ts';

/** Names and whether they are served. */
export type RuntimeConfig = Readonly<Record<string, boolean>>;

/** Least specific first. */
const stages: readonly (readonly [string, RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];
const stageNames = new Set(stages.map(([name]) => name));
/** Served here and by no kube-apiserver. */
const ownGroup = /^metrics\.k8s\.io\//;
const trials = /^v\d+(alpha|beta)\d+$/;

/** Groups of kube-apiserver that are not served here, so that what is said about them has no effect. */
const otherGroups = new Set(['internal.apiserver.k8s.io', 'storagemigration.k8s.io']);
const isKnown = (group: string): boolean => isServedGroup(group) || otherGroups.has(group);

interface Name {
  readonly group: string;
  readonly version: string;
  readonly resource: string | undefined;
}

/** undefined: it is not the name of a version or of a resource. */
function nameOf(text: string): Name | undefined {
  const [first, ...rest] = text.split('/');
  if (/^v\d/.test(first!))
    return rest.length > 1 ? undefined : { group: '', version: first!, resource: rest[0] };
  const [version, resource, ...more] = rest;
  return version === undefined || more.length ? undefined : { group: first!, version, resource };
}

/** Why names cannot be used, in the words of kube-apiserver; undefined: they can. */
export function runtimeConfigProblem(config: RuntimeConfig): string | undefined {
  const names = Object.keys(config);
  if (names.length === 1 && config['api/all'] === false) return 'invalid key with only api/all=false';
  const others = names.filter((name) => !stageNames.has(name));
  const odd = others.find((name) => nameOf(name) === undefined);
  if (odd !== undefined) return `runtime-config invalid key ${odd}`;
  const unknown = others.filter((name) => !isKnown(nameOf(name)!.group));
  return unknown.length ? `unknown api groups ${unknown.join(',')}` : undefined;
}

/** What a minor of Kubernetes serves unless the user says otherwise. */
interface MinorDefaults {
  serves(
    apiVersion: string,
    resource: string | undefined,
    said: (resource: string) => boolean | undefined,
  ): boolean;
}

/** Says of every built-in resource whether it is served. */
export class Enablement {
  readonly #stages: readonly (readonly [RegExp, boolean])[];

  constructor(
    private readonly config: RuntimeConfig,
    private readonly minor?: MinorDefaults,
  ) {
    this.#stages = stages
      .filter(([name]) => config[name] !== undefined)
      .map(([name, pattern]) => [pattern, config[name]!]);
  }

  /** @param resource undefined: the version as a whole */
  readonly serves = (apiVersion: string, resource?: string): boolean => {
    if (!this.minor) return this.#said(apiVersion, resource) ?? true;
    // In Kubernetes, metrics come from another server, if at all.
    if (ownGroup.test(apiVersion)) return this.config[apiVersion] ?? false;
    return this.minor.serves(apiVersion, resource, (one) => this.#said(apiVersion, one));
  };

  #said(apiVersion: string, resource?: string): boolean | undefined {
    const one = resource === undefined ? undefined : this.config[`${apiVersion}/${resource}`];
    return one ?? this.config[apiVersion] ?? this.#stage(apiVersion.split('/').at(-1)!);
  }

  #stage(version: string): boolean | undefined {
    return this.#stages.findLast(([pattern]) => pattern.test(version))?.[1];
  }

  /**
   * Why a named version is not there; versions on trial are known to come and go.
   * @param known whether there is such a version
   */
  problem(known: (apiVersion: string) => boolean): string | undefined {
    for (const text of Object.keys(this.config)) {
      if (stageNames.has(text)) continue;
      const { group, version } = nameOf(text)!;
      const apiVersion = group ? `${group}/${version}` : version;
      if (!known(apiVersion) && !trials.test(version))
        return `group version ${apiVersion} that has not been registered`;
    }
    return undefined;
  }
}
