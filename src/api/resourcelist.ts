/** Resource lists: amounts by resource name, as in `requests`, `limits`, `hard` and `used`. */
import { addQuantities, compareQuantities, formatQuantity, parseQuantity } from './quantity.ts';

export type ResourceList = Record<string, string>;

/** The sum, name by name. The first list's way of writing an amount wins. */
export function addLists(a: ResourceList, b: ResourceList | undefined): ResourceList {
  const sum = { ...a };
  for (const [name, value] of Object.entries(b ?? {}))
    sum[name] =
      sum[name] === undefined
        ? value
        : formatQuantity(addQuantities(parseQuantity(sum[name]), parseQuantity(value)));
  return sum;
}

/** The larger amount, name by name. */
export function largerLists(a: ResourceList, b: ResourceList): ResourceList {
  const out = { ...a };
  for (const [name, value] of Object.entries(b))
    if (out[name] === undefined || compareQuantities(parseQuantity(value), parseQuantity(out[name])) > 0)
      out[name] = value;
  return out;
}
