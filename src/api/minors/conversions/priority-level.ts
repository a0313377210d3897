/**
 * PriorityLevelConfiguration before flowcontrol.apiserver.k8s.io/v1: an annotation separates a share of zero from a
 * missing one, and v1beta1 and v1beta2 have another name for shares.
 */
import type { JsonObject } from '../../text/object.ts';
import { annotate, annotationOf, changeMember, type VersionConversion } from './conversion.ts';

const keepsZero = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';
const today = 'nominalConcurrencyShares';

const limitedOf = (object: JsonObject): JsonObject | undefined =>
  (object['spec'] as JsonObject | undefined)?.['limited'] as JsonObject | undefined;

/** @param name what that version calls shares */
const sharesAs = (name: string): VersionConversion => ({
  up(object) {
    const isZero = annotationOf(object, keepsZero) !== undefined;
    annotate(object, keepsZero, undefined);
    changeMember((object['spec'] ?? {}) as JsonObject, 'limited', ({ [name]: shares, ...limited }) => {
      const given = shares ?? (isZero ? 0 : undefined);
      return { ...limited, ...(given === undefined ? {} : { [today]: given }) };
    });
    return object;
  },
  down(object) {
    annotate(object, keepsZero, limitedOf(object)?.[today] === 0 ? '' : undefined);
    changeMember((object['spec'] ?? {}) as JsonObject, 'limited', ({ [today]: shares, ...limited }) => ({
      ...limited,
      ...(shares === undefined ? {} : { [name]: shares }),
    }));
    return object;
  },
});

export const priorityLevelV1beta3 = sharesAs(today);
export const priorityLevelV1beta2 = sharesAs('assuredConcurrencyShares');
