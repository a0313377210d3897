/** Job: runs pods until enough of them have succeeded. */
import type { Job } from '../generated/types.ts';
import { defineKind, statusSubresource } from '../kind.ts';

export const job = defineKind<Job>({
  kind: 'Job',
  resource: 'jobs',
  singular: 'job',
  categories: ['all'],
  group: 'extensions',
  version: 'v1beta1',
  table: 'extensions-v1beta1',
  namespaced: true,
  subresources: [statusSubresource],
  generationOf: 'spec',

  selectableFields: { 'status.successful': (job) => String(job.status?.succeeded ?? 0) },
  unknownField: (path) => `field label "${path}" not supported for Job`,
});
