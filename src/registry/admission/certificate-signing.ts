/**
 * CertificateSigning: a user who stores a certificate, or marks a request as failed, must be allowed to sign as the
 * signer.
 */
import type { Authorizer } from '../../api/kind/access.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { checkSigner } from './signer-permission.ts';
import { signingRequestId } from './signing-requests.ts';

export const certificateSigning = (authorizer: Authorizer): AdmissionPlugin => ({
  name: 'CertificateSigning',
  kinds: [signingRequestId],

  validate(_registry, admission) {
    const { target, object } = admission;
    if (target.part !== 'status') return;
    if (!semanticEqual(object?.status, admission.old?.status))
      return checkSigner(authorizer, admission, 'sign');
  },
});
