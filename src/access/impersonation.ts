/**
 * Impersonation: a user asks to act as another. Since Kubernetes 1.36 there are five modes. The first four are
 * constrained: a role says which users may be impersonated, and additionally which actions are allowed as them. The
 * last is the mode of all earlier versions.
 *
 * The mode that last succeeded for a user is tried first, and its error is reported when all refuse.
 */
import type { Action, Attributes, Authorizer, ResourceAction } from '../api/kind/access.ts';
import { isLabel1123, isSubdomain1123 } from '../api/values/names.ts';
import { authenticated, masters, type User } from '../api/values/user.ts';
import { accountGroups } from './authentication/service-accounts.ts';
import { BoundedCache } from './shared/bounded-cache.ts';
import { extraProblem } from './shared/extra-keys.ts';

/** Maximum number of users whose mode is cached. */
const rememberedMax = 10_000;
/** From this many groups or extra values on, one check for all of them is tried first. */
const manyChecks = 4;

const group = 'authentication.k8s.io';
const anonymous = 'system:anonymous';
const unauthenticated = 'system:unauthenticated';
const nodeNameKey = 'authentication.kubernetes.io/node-name';

/**
 * The user that a request wants to act as. All but the first two fields are read only when the requester may use the
 * name.
 */
export interface WantedUser {
  readonly name: string;
  /** Whether only a name is wanted. */
  readonly isAlone: boolean;
  /** The uid; '' when none is wanted. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface Impersonated {
  readonly user: User;
  /** The verb of a constrained mode, for the audit log. */
  readonly constraint: string | undefined;
}

/** The requester may not act as this user. */
export class ImpersonationRefused extends Error {
  constructor(
    readonly action: Action,
    readonly reason: string,
  ) {
    super(reason);
    this.name = 'ImpersonationRefused';
  }
}

interface Mode {
  /** The verb of its checks. */
  readonly verb: string;
  /** The verb that is checked for the request itself; undefined: there is no such check. */
  readonly onVerb?: string;
  applies(wanted: WantedUser, requester: User): boolean;
}

const constrained = (name: string, applies: Mode['applies']): Mode => ({
  verb: `impersonate:${name}`,
  onVerb: `impersonate-on:${name}`,
  applies,
});

const associatedNode = constrained('associated-node', (wanted, { name, extra }) => {
  const [node, more] = extra?.[nodeNameKey] ?? [];
  if (!wanted.isAlone || node === undefined || more !== undefined || !accountOf(name)) return false;
  return nodeOf(wanted.name) === node;
});

const legacy: Mode = { verb: 'impersonate', applies: () => true };

const modes: readonly Mode[] = [
  associatedNode,
  constrained('arbitrary-node', (wanted) => wanted.isAlone && nodeOf(wanted.name) !== undefined),
  constrained('serviceaccount', (wanted) => wanted.isAlone && accountOf(wanted.name) !== undefined),
  constrained('user-info', ({ name }) => nodeOf(name) === undefined && accountOf(name) === undefined),
  legacy,
];

export class Impersonation {
  readonly #last = new BoundedCache<Mode>(rememberedMax);

  /** Returns the impersonated user. Rejects with the error of the first mode that applied. */
  async become(
    wanted: WantedUser,
    { user, info }: Attributes,
    authorizer: Authorizer,
  ): Promise<Impersonated> {
    const last = this.#last.get(user.name);
    const order = last ? [last, ...modes.filter((mode) => mode !== last)] : modes;
    let refused: ImpersonationRefused | undefined;
    for (const mode of order) {
      if (!mode.applies(wanted, user)) continue;
      try {
        const impersonated = await becomeBy(mode, wanted, new Checks(mode, user, authorizer), info);
        this.#last.set(user.name, mode);
        return impersonated;
      } catch (error) {
        if (!(error instanceof ImpersonationRefused)) throw error;
        refused ??= error;
      }
    }
    throw refused;
  }
}

async function becomeBy(mode: Mode, wanted: WantedUser, checks: Checks, info: Action): Promise<Impersonated> {
  if (mode.onVerb !== undefined) await checks.allowed({ ...info, verb: `${mode.onVerb}:${info.verb}` });
  const ownGroups = await checkName(mode, wanted, checks);
  if (wanted.uid) await checks.resource({ resource: 'uids', name: wanted.uid });
  await checkGroups(mode, wanted, checks);
  await checkExtra(mode, wanted, checks);
  const user: User = {
    name: wanted.name,
    ...(wanted.uid ? { uid: wanted.uid } : {}),
    groups: withUsualGroup(wanted.name, wanted.groups.length || !ownGroups ? wanted.groups : ownGroups),
    extra: wanted.extra,
  };
  return { user, constraint: mode === legacy ? undefined : mode.verb };
}

/** Checks the name. Returns the default groups of such a user; undefined: none. */
async function checkName(
  mode: Mode,
  { name }: WantedUser,
  checks: Checks,
): Promise<readonly string[] | undefined> {
  const node = mode === legacy ? undefined : nodeOf(name);
  const account = accountOf(name);
  if (node !== undefined) {
    // One check for all nodes: it is known already that the account runs on this one.
    await checks.resource({ resource: 'nodes', name: mode === associatedNode ? '*' : node });
    return ['system:nodes'];
  }
  if (!account) {
    await checks.identity({ resource: 'users', name });
    return undefined;
  }
  await checks.identity({ resource: 'serviceaccounts', namespace: account.namespace, name: account.name });
  return accountGroups(account.namespace);
}

async function checkGroups(mode: Mode, { groups }: WantedUser, checks: Checks): Promise<void> {
  if (groups.length === 0) return;
  if (mode !== legacy) {
    if (groups.includes(''))
      checks.refuse({ resource: 'groups' }, 'impersonating the empty string group is not allowed');
    if (groups.includes(masters))
      checks.refuse(
        { resource: 'groups', name: masters },
        'impersonating the system:masters group is not allowed',
      );
    if (groups.length >= manyChecks && (await checks.mayIdentity({ resource: 'groups', name: '*' }))) return;
  }
  for (const name of groups) await checks.identity({ resource: 'groups', name });
}

async function checkExtra(mode: Mode, { extra }: WantedUser, checks: Checks): Promise<void> {
  const values = Object.entries(extra).flatMap(([key, list]) => list.map((value) => [key, value] as const));
  if (mode !== legacy) {
    const problem = extraProblem(extra);
    if (problem !== undefined) checks.refuse({ resource: 'userextras' }, problem);
    const all = { resource: 'userextras', subresource: '*', name: '*' };
    if (values.length >= manyChecks && (await checks.mayIdentity(all))) return;
  }
  for (const [subresource, name] of values)
    await checks.resource({ resource: 'userextras', subresource, name });
}

type Checked = Partial<ResourceAction> & Pick<ResourceAction, 'resource'>;

/** The checks of one mode; each asks the authorizer about the requester. */
class Checks {
  readonly #user: User;

  constructor(
    private readonly mode: Mode,
    requester: User,
    private readonly authorizer: Authorizer,
  ) {
    this.#user = mode === associatedNode ? withKeysOnly(requester) : requester;
  }

  /** Rejects when it is not allowed. */
  async allowed(action: Action): Promise<void> {
    const { allowed, reason, error } = await this.authorizer.decide({ user: this.#user, info: action });
    if (!allowed) throw new ImpersonationRefused(action, [error, reason].filter(Boolean).join(': '));
  }

  resource(checked: Checked): Promise<void> {
    return this.allowed(this.#action(checked, group));
  }

  /** Checks a name or group; in the legacy mode they are resources of the core group. */
  identity(checked: Checked): Promise<void> {
    return this.allowed(this.#action(checked, this.mode === legacy ? '' : group));
  }

  async mayIdentity(checked: Checked): Promise<boolean> {
    const { allowed } = await this.authorizer.decide({
      user: this.#user,
      info: this.#action(checked, group),
    });
    return allowed;
  }

  refuse(checked: Checked, reason: string): never {
    throw new ImpersonationRefused(this.#action(checked, group), reason);
  }

  #action(checked: Checked, of: string): Action {
    const resource: ResourceAction = {
      group: of,
      version: 'v1',
      subresource: undefined,
      namespace: undefined,
      name: undefined,
      ...checked,
    };
    return { verb: this.mode.verb, path: '', resource };
  }
}

/** The user without the values of its extra fields: where a pod runs must not influence what its account may do. */
function withKeysOnly(user: User): User {
  const keys = Object.keys(user.extra ?? {}).sort();
  return { ...user, extra: { 'authentication.kubernetes.io/associated-node-keys': keys } };
}

function withUsualGroup(name: string, groups: readonly string[]): readonly string[] {
  const usual = name === anonymous ? unauthenticated : authenticated;
  return groups.includes(usual) || groups.includes(unauthenticated) ? groups : [...groups, usual];
}

function nodeOf(userName: string): string | undefined {
  const prefix = 'system:node:';
  if (!userName.startsWith(prefix)) return undefined;
  const node = userName.slice(prefix.length);
  return isSubdomain1123(node).length ? undefined : node;
}

function accountOf(userName: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]*):([^:]*)$/.exec(userName) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  return isLabel1123(namespace).length || isSubdomain1123(name).length ? undefined : { namespace, name };
}
