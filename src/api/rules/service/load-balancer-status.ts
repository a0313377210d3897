/** Load balancer status: the external addresses of a service, as its balancer's controller reports them. */

import { type FieldError, forbidden, index, invalid, notSupported } from '../../errors/field-error.ts';
import type { LoadBalancerIngress, Service } from '../../generated/types.ts';
import { isIP, parseIP } from '../../values/addresses.ts';
import { isSubdomain1123 } from '../../values/names.ts';

const path = 'status.loadBalancer.ingress';
const modes: readonly string[] = ['Proxy', 'VIP'];

const ingressOf = ({ status }: Service): readonly LoadBalancerIngress[] =>
  status?.loadBalancer?.ingress ?? [];

/** The default ipMode: `VIP`, a balancer that keeps the destination address of packets. */
export function defaultIngress(service: Service): void {
  if (service.spec?.type !== 'LoadBalancer') return;
  for (const ingress of ingressOf(service)) if (ingress.ip) ingress.ipMode ??= 'VIP';
}

export function validateIngress(service: Service): FieldError[] {
  const ingresses = ingressOf(service);
  if (ingresses.length && service.spec?.type !== 'LoadBalancer')
    return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  return ingresses.flatMap(({ ip, ipMode, hostname }, i) => {
    const at = index(path, i);
    const errors: FieldError[] = [];
    if (ip) for (const problem of isIP(ip)) errors.push(invalid(`${at}.ip`, ip, problem));
    if (ipMode !== undefined && !ip)
      errors.push(forbidden(`${at}.ipMode`, 'may not be specified when `ip` is not set'));
    else if (ipMode !== undefined && !modes.includes(ipMode))
      errors.push(notSupported(`${at}.ipMode`, ipMode, modes));
    if (!hostname) return errors;
    for (const problem of isSubdomain1123(hostname))
      errors.push(invalid(`${at}.hostname`, hostname, problem));
    if (parseIP(hostname))
      errors.push(invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address'));
    return errors;
  });
}

/** IPs, or hostnames where there is no IP: sorted, without repeats. */
export function ingressTexts(service: Service): string[] {
  const texts = ingressOf(service).map(({ ip, hostname }) => ip || hostname || '');
  return [...new Set(texts.filter((text) => text !== ''))].sort();
}
