/** CertificateApproval: who approves or denies a signing request must be allowed to for its signer. */

import type { AdmissionPlugin } from '../admission-chain.ts';
import { checkSigner } from './signer-permission.ts';
import { signingRequestId } from './signing-requests.ts';

export const certificateApproval: AdmissionPlugin = {
  name: 'CertificateApproval',
  kinds: [signingRequestId],

  validate(registry, admission) {
    if (admission.target.part === 'approval') return checkSigner(registry, admission, 'approve');
  },
};
