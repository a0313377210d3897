/**
 * Service addresses: `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`, four fields about the same
 * addresses. Older clients know only the first. The fields are made consistent and checked against each other here;
 * the registry allocates the addresses.
 */

import {
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { Service, ServiceSpec } from '../../generated/types.ts';
import { isIP, parseIP } from '../../values/addresses.ts';
import { hasClusterIP, isHeadless, noClusterIP, sameList } from './service-type.ts';

export type Family = 'IPv4' | 'IPv6';

const families: readonly string[] = ['IPv4', 'IPv6'];
const policies: readonly string[] = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const addressesMax = 2;

export const familyOf = (ip: string): Family => (parseIP(ip)?.family === 6 ? 'IPv6' : 'IPv4');

/** Sets clusterIPs for a client that knows only clusterIP. */
export function fillClusterIPs(spec: ServiceSpec): void {
  if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
}

/** Restores addresses that an update leaves out, and follows a change of clusterIP. */
export function refillClusterIPs(spec: ServiceSpec, before: ServiceSpec): void {
  if (hasClusterIP(before) && hasClusterIP(spec)) {
    spec.clusterIP ||= before.clusterIP;
    if (!spec.clusterIPs?.length && before.clusterIPs?.length) spec.clusterIPs = [...before.clusterIPs];
  }
  if ((spec.clusterIP ?? '') === (before.clusterIP ?? '')) {
    if (!spec.clusterIPs?.length && before.clusterIPs?.length) spec.clusterIPs = [...before.clusterIPs];
    return;
  }
  // A client that changes clusterIP and sends the old clusterIPs does not know the list.
  if (!sameList(spec.clusterIPs, before.clusterIPs)) return;
  spec.clusterIPs = spec.clusterIP ? [spec.clusterIP] : undefined;
}

/** Whether the four fields agree. */
export function validateAddresses(spec: ServiceSpec): FieldError[] {
  if (!hasClusterIP(spec)) return [];
  const errors = [...validateFirst(spec), ...validateFamilies(spec)];
  const problems = validateList(spec);
  if (problems.length) return [...errors, ...problems];
  return [...errors, ...validateMatch(spec)];
}

const listPath = 'spec.clusterIPs';

function validateFirst({ clusterIP, clusterIPs = [] }: ServiceSpec): FieldError[] {
  if (!clusterIP)
    return clusterIPs.length
      ? [invalid(listPath, clusterIPs, 'must be empty when `clusterIP` is not specified')]
      : [];
  if (clusterIPs.length === 0) return [required(listPath)];
  return clusterIPs[0] === clusterIP
    ? []
    : [invalid(listPath, clusterIPs, 'first value must match `clusterIP`')];
}

function validateFamilies({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  ipFamilies.forEach((family, i) => {
    const at = index('spec.ipFamilies', i);
    if (!families.includes(family)) errors.push(notSupported(at, family, families));
    if (seen.has(family)) errors.push(duplicate(at, family));
    seen.add(family);
  });
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy))
    errors.push(notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies));
  return errors;
}

/** Errors here would make those of `validateMatch` hard to understand. */
function validateList({ clusterIPs = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  clusterIPs.forEach((ip, i) => {
    if (i === 0 && ip === noClusterIP) {
      if (clusterIPs.length > 1)
        errors.push(invalid(listPath, clusterIPs, "'None' must be the first and only value"));
      return;
    }
    for (const problem of isIP(ip)) errors.push(invalid(index(listPath, i), ip, problem));
  });
  if (clusterIPs.length > addressesMax)
    errors.push(invalid(listPath, clusterIPs, `may only hold up to ${addressesMax} values`));
  return errors;
}

function validateMatch(spec: ServiceSpec): FieldError[] {
  const { clusterIPs = [], ipFamilies = [] } = spec;
  const errors: FieldError[] = [];
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(familyOf)).size < clusterIPs.length)
    errors.push(invalid(listPath, clusterIPs, 'may specify no more than one IP for each IP family'));
  if (isHeadless(spec)) return errors;
  clusterIPs.forEach((ip, i) => {
    const family = ipFamilies[i];
    if (family !== undefined && families.includes(family) && familyOf(ip) !== family)
      errors.push(
        invalid(index(listPath, i), ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``),
      );
  });
  return errors;
}

/** Fields that only a service with a cluster IP may have. */
export function validateNoAddresses(spec: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const detail = 'may not be set for ExternalName services';
  if (spec.clusterIPs?.length) errors.push(forbidden(listPath, detail));
  if (spec.ipFamilies?.length) errors.push(forbidden('spec.ipFamilies', detail));
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbidden('spec.ipFamilyPolicy', detail));
  return errors;
}

/**
 * Addresses and families are immutable, unless the service was or becomes an ExternalName. A second one may come, and go
 * when the policy becomes SingleStack.
 */
export function validateAddressesUpdate(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  if (!hasClusterIP(spec) || !hasClusterIP(before)) return [];
  const errors: FieldError[] = [];
  const [now = [], then = []] = [spec.clusterIPs, before.clusterIPs];
  if (!(isHeadless(spec) && isHeadless(before)) && then.length) {
    if (now.length === 0) errors.push(invalid(index(listPath, 0), now, 'primary clusterIP can not be unset'));
    now.slice(0, then.length).forEach((ip, i) => {
      if (ip !== then[i]) errors.push(invalid(index(listPath, i), now, 'may not change once set'));
    });
    errors.push(...validateRelease(spec, now, then, 'clusterIP'));
  }
  const [families = [], familiesBefore = []] = [spec.ipFamilies, before.ipFamilies];
  if (isHeadless(spec) || isHeadless(before) || !familiesBefore.length) return errors;
  const compared = families.length === familiesBefore.length ? familiesBefore : familiesBefore.slice(0, 1);
  compared.forEach((family, i) => {
    if (families[i] !== family)
      errors.push(invalid('spec.ipFamilies[0]', families, 'may not change once set'));
  });
  return [...errors, ...validateRelease(spec, families, familiesBefore, 'ipFamily')];
}

function validateRelease(
  { ipFamilyPolicy }: ServiceSpec,
  now: readonly string[],
  then: readonly string[],
  what: string,
): FieldError[] {
  if (then.length < 2 || now.length !== 1 || ipFamilyPolicy === 'SingleStack') return [];
  const detail = `must be set to 'SingleStack' when releasing the secondary ${what}`;
  return [invalid('spec.ipFamilyPolicy', ipFamilyPolicy ?? null, detail)];
}

/**
 * Fills in families and policy from the configuration of the cluster, and refuses families it does not have. Only for
 * services with a cluster IP, after their fields were found consistent.
 */
export function settleFamilies(
  { spec = {} }: Service,
  old: Service | undefined,
  configured: readonly Family[],
): FieldError[] {
  spec.ipFamilyPolicy ??= old?.spec?.ipFamilyPolicy;
  if (old?.spec && isUnchangedPreference(spec, old.spec)) return [];
  const detached = spec.clusterIP === noClusterIP && Object.keys(spec.selector ?? {}).length === 0;
  // The endpoints of a headless service without selector may have both families.
  spec.ipFamilyPolicy ??= detached ? 'RequireDualStack' : 'SingleStack';
  if (old) keepSingle(spec, old.spec ?? {});
  const errors = [...validatePolicy(spec), ...inferFamilies(spec, configured)];
  if (errors.length) return errors;
  const wanted = (spec.ipFamilies ??= []);
  if (detached) {
    if (wanted.length === 0) wanted.push(configured[0]!);
    if (wanted.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') wanted.push(otherFamily(wanted[0]!));
    return [];
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack' && configured.length < 2)
    errors.push(
      invalid(
        'spec.ipFamilyPolicy',
        spec.ipFamilyPolicy,
        'this cluster is not configured for dual-stack services',
      ),
    );
  wanted.forEach((family, i) => {
    if (!configured.includes(family as Family))
      errors.push(invalid(index('spec.ipFamilies', i), family, 'not configured on this cluster'));
  });
  if (errors.length) return errors;
  if (wanted.length === 0) wanted.push(configured[0]!);
  if (wanted.length === 1 && spec.ipFamilyPolicy !== 'SingleStack' && configured.length > 1)
    wanted.push(otherFamily(wanted[0]!));
  return [];
}

/** A service that prefers both families keeps those it got, also when the cluster has others now. */
const isUnchangedPreference = (spec: ServiceSpec, before: ServiceSpec): boolean =>
  before.ipFamilyPolicy === 'PreferDualStack' &&
  spec.ipFamilyPolicy === 'PreferDualStack' &&
  hasClusterIP(before) &&
  sameList(spec.clusterIPs, before.clusterIPs) &&
  sameList(spec.ipFamilies, before.ipFamilies);

const otherFamily = (family: string): Family => (family === 'IPv4' ? 'IPv6' : 'IPv4');

/** A change of only the policy to SingleStack drops the second address and family. */
function keepSingle(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.ipFamilyPolicy !== 'SingleStack') return;
  if (sameList(spec.clusterIPs, before.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1);
  if (sameList(spec.ipFamilies, before.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1);
}

function validatePolicy({ ipFamilyPolicy, clusterIPs, ipFamilies }: ServiceSpec): FieldError[] {
  if (ipFamilyPolicy !== 'SingleStack') return [];
  const several = (what: string): FieldError =>
    invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  return [
    ...(clusterIPs?.length === 2 ? [several('cluster IPs')] : []),
    ...(ipFamilies?.length === 2 ? [several('IP families')] : []),
  ];
}

/** The family of an address. */
function inferFamilies(spec: ServiceSpec, configured: readonly Family[]): FieldError[] {
  const { clusterIPs = [] } = spec;
  if (isHeadless(spec)) return [];
  const wanted = (spec.ipFamilies ??= []);
  const errors: FieldError[] = [];
  clusterIPs.slice(wanted.length).forEach((ip) => {
    const family = familyOf(ip);
    const at = index(listPath, clusterIPs.indexOf(ip));
    if (configured.includes(family)) wanted.push(family);
    else errors.push(invalid(at, clusterIPs, `${family} is not configured on this cluster`));
  });
  return errors;
}
