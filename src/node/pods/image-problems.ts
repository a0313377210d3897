/** The state and the events of a container whose image cannot be used. */
import { ImageError, type ImageProblem } from '../runtime/runtime.ts';

/** Reasons of a failed pull, which become `ImagePullBackOff` until the next attempt. */
const pullProblems: ReadonlySet<string | undefined> = new Set<ImageProblem>([
  'ErrImagePull',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

/** Whether a waiting container shows that its image could not be pulled. */
export const isPullProblem = (reason: string | undefined): boolean => pullProblems.has(reason);

export interface ImageComplaint {
  readonly reason: ImageProblem;
  /** Reason and message of the events, in order. */
  readonly events: readonly (readonly [reason: string, message: string])[];
}

export function imageComplaint(image: string | undefined, error: Error): ImageComplaint {
  const reason = error instanceof ImageError ? error.reason : 'ErrImagePull';
  const last = ['Failed', `Error: ${reason}`] as const;
  if (reason === 'ErrImageNeverPull') return { reason, events: [[reason, error.message], last] };
  if (reason === 'InvalidImageName' || reason === 'ImageInspectError')
    return { reason, events: [['InspectFailed', error.message], last] };
  return { reason, events: [['Failed', `Failed to pull image "${image}": ${error.message}`], last] };
}
