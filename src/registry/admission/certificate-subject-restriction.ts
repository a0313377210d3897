/** CertificateSubjectRestriction: refuses requests for client certificates of the group `system:masters`. */
import { forbidden } from '../../api/errors/errors.ts';
import type { CertificateSigningRequest } from '../../api/generated/types.ts';
import { masters } from '../../api/values/user.ts';
import type { AdmissionPlugin } from '../admission-chain.ts';
import { requestIn, signingRequestId } from './signing-requests.ts';

const clientSigner = 'kubernetes.io/kube-apiserver-client';

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  kinds: [signingRequestId],

  validate(_registry, { target, operation, object }) {
    if (operation !== 'create') return;
    const request = object as CertificateSigningRequest;
    if (request.spec?.signerName !== clientSigner) return;
    if (requestIn(request).read.organizations.includes(masters))
      throw forbidden(
        target.kind,
        target.name,
        `use of ${clientSigner} signer with ${masters} group is not allowed`,
      );
  },
};
