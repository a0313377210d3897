/** Resource lists: amounts by resource name, as in `requests`, `limits`, `hard` and `used`. */
import { setKey } from '../text/object.ts';
import { addQuantities, compareQuantities, formatQuantity, parseQuantity } from './quantity.ts';

export type ResourceList = Record<string, string>;

const amountIn = (list: ResourceList, name: string): string | undefined =>
  Object.hasOwn(list, name) ? list[name] : undefined;

/** Adds a list to another, name by name. The sum keeps the first list's suffix family. */
export function addTo(sum: ResourceList, list: ResourceList | undefined): void {
  for (const name of Object.keys(list ?? {})) {
    const amount = amountIn(sum, name);
    const value = list![name]!;
    const total =
      amount === undefined
        ? value
        : formatQuantity(addQuantities(parseQuantity(amount), parseQuantity(value)));
    setKey(sum, name, total);
  }
}

/** Sets each amount of a list to the maximum of both lists. */
export function raiseTo(largest: ResourceList, list: ResourceList): void {
  for (const name of Object.keys(list)) {
    const amount = amountIn(largest, name);
    const value = list[name]!;
    if (amount === undefined || compareQuantities(parseQuantity(value), parseQuantity(amount)) > 0)
      setKey(largest, name, value);
  }
}

/** The sum of two lists. */
export function addLists(a: ResourceList, b: ResourceList | undefined): ResourceList {
  const sum = { ...a };
  addTo(sum, b);
  return sum;
}
