/** The certificates group: requests for certificates. */
import type { Group } from '../../kind/group.ts';
import { certificateSigningRequest } from './certificate-signing-request.ts';

export const group: Group = {
  name: 'certificates.k8s.io',
  priority: 17_300,
  versions: { v1: {} },
  kinds: [certificateSigningRequest],
};
