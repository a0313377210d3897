/** The batch group: work that ends. */
import type { Group } from '../../kind/group.ts';
import { batchJob } from './batch-job.ts';
import { cronJob } from './cron-job.ts';
import { cronJobV1beta1 } from './cron-job-v1beta1.ts';

export const group: Group = {
  name: 'batch',
  priority: 17_400,
  versions: { v1: {}, v1beta1: { priority: 9 } },
  kinds: [batchJob, cronJob, cronJobV1beta1],
};
