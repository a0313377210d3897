/** CertificateApproval: a user who approves or denies a signing request must be allowed to do so for its signer. */

import type { Authorizer } from '../../api/kind/access.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { checkSigner } from './signer-permission.ts';
import { signingRequestId } from './signing-requests.ts';

export const certificateApproval = (authorizer: Authorizer): AdmissionPlugin => ({
  name: 'CertificateApproval',
  kinds: [signingRequestId],

  validate(_registry, admission) {
    if (admission.target.part === 'approval') return checkSigner(authorizer, admission, 'approve');
  },
});
