/** Addresses that cannot be those of endpoints: what is there is only reached from the machine itself. */

import { type FieldError, invalid } from '../../errors/field-error.ts';
import { type Address, parseIP } from '../../values/addresses.ts';

const isLoopback = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 24n === 127n : value === 1n;
const isLinkLocal = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0b11_1111_1010n;
/** In IPv6 multicast any flags may precede the scope, which is 2 for link-local. */
const isLinkLocalMulticast = ({ family, value }: Address): boolean =>
  family === 4 ? value >> 8n === 0xe0_0000n : value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;

/** Errors of addresses that cannot be endpoints: unspecified, loopback, link-local. */
export function endpointAddressErrors(ip: string, path: string): FieldError[] {
  const address = parseIP(ip);
  if (!address) return [invalid(path, ip, 'must be a valid IP address')];
  const problems: string[] = [];
  if (address.value === 0n) problems.push(`may not be unspecified (${ip})`);
  if (isLoopback(address)) problems.push('may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (isLinkLocal(address)) problems.push('may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  if (isLinkLocalMulticast(address))
    problems.push('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
  return problems.map((problem) => invalid(path, ip, problem));
}
