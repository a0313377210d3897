/**
 * Checks whether a user may approve for a signer, or sign as it: by a permission on the signer's name or on its whole
 * domain.
 */
import { forbidden } from '../../api/errors/errors.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import type { Authorizer } from '../../api/kind/access.ts';
import type { Admission } from '../admission-chain.ts';

const group = 'certificates.k8s.io';

/** Throws when the user is not allowed. Controllers of this process are allowed: each acts for its own signer only. */
export async function checkSigner(
  authorizer: Authorizer,
  { request, target, old }: Admission,
  verb: 'approve' | 'sign',
): Promise<void> {
  if (request.internal) return;
  const { user } = request;
  const signer = (old as CertificateSigningRequest).spec?.signerName ?? '';
  const [domain = ''] = signer.split('/');
  for (const name of [signer, `${domain}/*`]) {
    const resource = {
      group,
      version: '*',
      resource: 'signers',
      subresource: undefined,
      namespace: undefined,
      name,
    };
    const decision = await authorizer.decide({ user, info: { verb, path: '', resource } });
    if (decision.allowed) return;
  }
  throw forbidden(
    target.kind,
    target.name,
    `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`,
  );
}
