/** Searches the text of objects for storage fields: objects without them need not be parsed. */
import { attributesMark, claimMark } from '../../api/rules/pod/in-use-protection.ts';
import type { Entry } from '../../registry/view/entry.ts';

const claimBytes = Buffer.from(claimMark);
const attributesBytes = Buffer.from(attributesMark);

/** Whether a pod may use claims. */
export const mayUseClaims = ({ document }: Entry): boolean => document.includes(claimBytes);

/** Whether a claim or volume may name a VolumeAttributesClass. */
export const mayNameAttributes = ({ document }: Entry): boolean => document.includes(attributesBytes);
