/**
 * The Node authorizer: nodes may read what the pods bound to them need, and write their own objects and those of their
 * pods. That they write no others is checked by the admission plugin NodeRestriction.
 */
import {
  type Attributes,
  type Authorizer,
  allowed,
  type Decision,
  noRules,
  type ResourceAction,
  type UserRules,
} from '../../api/kind/access.ts';
import { nodeOf, nodeUserPrefix } from '../../api/values/node-identity.ts';
import type { User } from '../../api/values/user.ts';
import type { NodeGraph, Reached } from './node-graph.ts';
import type { RuleSet } from './rule-set.ts';

const noOpinion: Decision = { allowed: false, reason: '' };
const refused = (reason: string): Decision => ({ allowed: false, reason });

const leaseNamespace = 'kube-node-lease';
const ownVerbs = new Set(['get', 'create', 'update', 'patch', 'delete']);
const readVerbs = new Set(['get', 'list', 'watch']);
const changeVerbs = new Set(['update', 'patch']);

/** A node, and its action on a resource. */
interface Asked {
  readonly node: string;
  readonly verb: string;
  readonly resource: ResourceAction;
}

export class NodeAuthorizer implements Authorizer {
  /** Checks by group and resource. */
  readonly #checks: ReadonlyMap<string, (asked: Asked) => Decision>;
  #rules: RuleSet | undefined;

  /** @param loadRules loads the general rules for nodes, when the first node makes a request */
  constructor(
    private readonly graph: NodeGraph,
    private readonly loadRules: () => RuleSet,
  ) {
    const get = (resource: Reached) => (asked: Asked) => this.#get(asked, resource);
    this.#checks = new Map([
      ['/secrets', (asked) => this.#read(asked, 'secrets')],
      ['/configmaps', (asked) => this.#read(asked, 'configmaps')],
      [
        '/persistentvolumeclaims',
        (asked) =>
          asked.resource.subresource === 'status'
            ? this.#changeStatus(asked, 'persistentvolumeclaims')
            : this.#get(asked, 'persistentvolumeclaims'),
      ],
      ['/persistentvolumes', get('persistentvolumes')],
      ['storage.k8s.io/volumeattachments', getNone],
      ['resource.k8s.io/resourceclaims', getNone],
      ['/serviceaccounts', (asked) => this.#account(asked)],
      ['/nodes', nodeDecision],
      ['/pods', (asked) => this.#pod(asked)],
      ['coordination.k8s.io/leases', leaseDecision],
      ['storage.k8s.io/csinodes', csiNodeDecision],
    ]);
  }

  decide({ user, info: { verb, path, resource } }: Attributes): Decision {
    if (!user.name.startsWith(nodeUserPrefix)) return noOpinion;
    const node = nodeOf(user);
    if (node === undefined) return noOpinion;
    const check = resource && this.#checks.get(`${resource.group}/${resource.resource}`);
    if (check) return check({ node, verb, resource });
    this.#rules ??= this.loadRules();
    const isAllowed = resource ? this.#rules.allows(verb, resource) : this.#rules.paths(verb).includes(path);
    return isAllowed ? allowed : noOpinion;
  }

  rulesFor(user: User): UserRules {
    if (nodeOf(user) === undefined) return noRules;
    const errors = ['node authorizer does not support user rule resolution'];
    return { ...noRules, incomplete: true, errors };
  }

  #reach({ node, resource: { namespace = '', name } }: Asked, resource: Reached): Decision {
    if (!name) return refused('No Object name found');
    return this.graph.reaches(node, resource, namespace, name) ? allowed : unrelated(node);
  }

  #read(asked: Asked, resource: Reached): Decision {
    const { verb, resource: what } = asked;
    if (!readVerbs.has(verb)) return refused('can only read resources of this type');
    if (what.subresource) return refused('cannot read subresource');
    if (!what.namespace) return refused('can only read namespaced object of this type');
    return this.#reach(asked, resource);
  }

  #get(asked: Asked, resource: Reached): Decision {
    return getProblem(asked) ?? this.#reach(asked, resource);
  }

  #changeStatus(asked: Asked, resource: Reached): Decision {
    return changeVerbs.has(asked.verb)
      ? this.#reach(asked, resource)
      : refused('can only get/update/patch this type');
  }

  #account(asked: Asked): Decision {
    const { verb, resource } = asked;
    if (verb === 'get' && !resource.subresource) return this.#reach(asked, 'serviceaccounts');
    if (verb !== 'create' || !resource.name)
      return refused('can only create tokens for individual service accounts');
    if (resource.subresource !== 'token')
      return refused('can only create token subresource of serviceaccount');
    return this.#reach(asked, 'serviceaccounts');
  }

  #pod(asked: Asked): Decision {
    const { node, verb, resource } = asked;
    if (resource.subresource === 'status') return changeVerbs.has(verb) ? allowed : noOpinion;
    if (resource.subresource === 'eviction') return verb === 'create' ? allowed : noOpinion;
    if (resource.subresource) return noOpinion;
    if (verb === 'create' || verb === 'delete') return allowed;
    if (verb === 'get') return this.#get(asked, 'pods');
    if (verb !== 'list' && verb !== 'watch') return noOpinion;
    if (resource.fieldSelector?.requires('spec.nodeName') === node) return allowed;
    if (resource.name) return this.#reach(asked, 'pods');
    return refused('can only list/watch pods with spec.nodeName field selector');
  }
}

const unrelated = (node: string): Decision =>
  refused(`no relationship found between node '${node}' and this object`);

function getProblem({ verb, resource }: Asked): Decision | undefined {
  if (verb !== 'get') return refused('can only get individual resources of this type');
  return resource.subresource ? refused('cannot get subresource') : undefined;
}

/** The decision about kinds that this server does not serve: no object of them is related to a node. */
const getNone = (asked: Asked): Decision => getProblem(asked) ?? unrelated(asked.node);

function nodeDecision({ node, verb, resource: { subresource, name } }: Asked): Decision {
  if (subresource) return subresource === 'status' && changeVerbs.has(verb) ? allowed : noOpinion;
  if (verb === 'create' || changeVerbs.has(verb)) return allowed;
  if (!readVerbs.has(verb)) return noOpinion;
  if (name === node) return allowed;
  return refused(
    name
      ? `node '${node}' cannot read '${name}', only its own Node object`
      : `node '${node}' cannot read all nodes, only its own Node object`,
  );
}

function leaseDecision({ node, verb, resource: { namespace, name } }: Asked): Decision {
  if (!ownVerbs.has(verb)) return refused('can only get, create, update, patch, or delete a node lease');
  if (namespace !== leaseNamespace)
    return refused(`can only access leases in the "${leaseNamespace}" system namespace`);
  // For a create the name is not known here; admission checks it.
  if (verb !== 'create' && name !== node)
    return refused('can only access node lease with the same name as the requesting node');
  return allowed;
}

function csiNodeDecision({ node, verb, resource: { subresource, name } }: Asked): Decision {
  if (!ownVerbs.has(verb)) return refused('can only get, create, update, patch, or delete a CSINode');
  if (subresource) return refused('cannot authorize CSINode subresources');
  if (verb !== 'create' && name !== node)
    return refused('can only access CSINode with the same name as the requesting node');
  return allowed;
}
