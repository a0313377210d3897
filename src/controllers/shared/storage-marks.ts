/** Marks in the text of objects that have to do with storage: those without them need not be read. */
import { attributesMark, claimMark } from '../../api/rules/pod/in-use-protection.ts';
import type { Entry } from '../../registry/view/entry.ts';

const claimBytes = Buffer.from(claimMark);
const attributesBytes = Buffer.from(attributesMark);

/** Whether a pod may use claims. */
export const mayUseClaims = ({ document }: Entry): boolean => document.includes(claimBytes);

/** Whether a claim or volume may name a class of attributes. */
export const mayNameAttributes = ({ document }: Entry): boolean => document.includes(attributesBytes);
