/** What the built-in signers sign: the rules that a request has to keep, in Kubernetes' words. */
import {
  kubeletServingSigner,
  nodeUserPrefix as nodePrefix,
  nodesGroup,
} from '../../api/values/node-identity.ts';
import type { SigningRequest } from '../../pki/signing-request.ts';

const clientSigner = 'kubernetes.io/kube-apiserver-client';
export const kubeletClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';

type Rule = (request: SigningRequest, usages: readonly string[]) => string | undefined;

const rules: Readonly<Record<string, Rule>> = {
  [clientSigner]: (_request, usages) => clientProblem(usages),
  [kubeletClientSigner]: kubeletClientProblem,
  [kubeletServingSigner]: kubeletServingProblem,
};

export const isOwnSigner = (name: string): boolean => Object.hasOwn(rules, name);

/** Why a signer refuses a request; undefined when it signs. */
export const signerProblem = (
  signer: string,
  request: SigningRequest,
  usages: readonly string[],
): string | undefined => rules[signer]?.(request, usages);

function clientProblem(usages: readonly string[]): string | undefined {
  const other = usages.find(
    (usage) => !['client auth', 'digital signature', 'key encipherment'].includes(usage),
  );
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}

function kubeletClientProblem(
  { read, names }: SigningRequest,
  usages: readonly string[],
): string | undefined {
  if (!isOfNodes(read)) return organizationText;
  if (names.dns.length) return 'DNS subjectAltNames are not allowed';
  if (names.emails.length) return 'Email subjectAltNames are not allowed';
  if (names.ips.length) return 'IP subjectAltNames are not allowed';
  if (names.uris.length) return 'URI subjectAltNames are not allowed';
  return nameProblem(read) ?? usagesProblem(usages, ['client auth', 'digital signature', 'key encipherment']);
}

function kubeletServingProblem(
  { read, names }: SigningRequest,
  usages: readonly string[],
): string | undefined {
  if (!isOfNodes(read)) return organizationText;
  if (names.dns.length + names.ips.length === 0) return 'DNS or IP subjectAltName is required';
  if (names.emails.length) return 'Email subjectAltNames are not allowed';
  if (names.uris.length) return 'URI subjectAltNames are not allowed';
  return usagesProblem(usages, ['digital signature', 'key encipherment', 'server auth']) ?? nameProblem(read);
}

const organizationText = 'subject organization is not system:nodes';

const isOfNodes = ({ organizations }: SigningRequest['read']): boolean =>
  organizations.length === 1 && organizations[0] === nodesGroup;

const nameProblem = ({ commonName }: SigningRequest['read']): string | undefined =>
  commonName.startsWith(nodePrefix) ? undefined : `subject common name does not begin with ${nodePrefix}`;

/** Checks the usages. Key encipherment is for RSA keys, so requests with other keys may leave it out. */
function usagesProblem(usages: readonly string[], wanted: readonly string[]): string | undefined {
  const missing = wanted.filter((usage) => !usages.includes(usage));
  const fits =
    usages.every((usage) => wanted.includes(usage)) && missing.every((usage) => usage === 'key encipherment');
  return fits ? undefined : `usages did not match [${wanted.join(' ')}]`;
}

/** The node that a request of one of the kubelet signers is for. */
export const nodeNamed = ({ commonName }: SigningRequest['read']): string =>
  commonName.slice(nodePrefix.length);
