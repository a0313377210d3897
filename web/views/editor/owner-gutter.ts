/** The margin that shows by colours who manages each line, with the managers' names. */
import { RangeSet, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { type EditorView, GutterMarker, gutter } from '@codemirror/view';
import type { ApiObject } from '../../core/objects.ts';
import { outlineOf } from './outline.ts';
import { type Manager, ownersOf } from './owners.ts';

/** Number of colours; further managers reuse them. */
export const ownerColours = 8;

class OwnerMarker extends GutterMarker {
  constructor(
    private readonly owners: readonly number[],
    private readonly title: string,
  ) {
    super();
  }

  override eq(other: OwnerMarker): boolean {
    return this.title === other.title && this.owners.join() === other.owners.join();
  }

  override toDOM(): HTMLElement {
    const box = document.createElement('span');
    box.className = 'owners';
    box.title = this.title;
    for (const owner of this.owners) {
      const stripe = document.createElement('span');
      stripe.className = `owner${owner % ownerColours}`;
      box.append(stripe);
    }
    return box;
  }
}

const setMarkers = StateEffect.define<RangeSet<OwnerMarker>>();

/** Moves with the lines as these are edited. */
const markers = StateField.define<RangeSet<OwnerMarker>>({
  create: () => RangeSet.empty,
  update: (value, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setMarkers)) return effect.value;
    return value.map(transaction.changes);
  },
});

export const ownerGutter = [
  markers,
  gutter({ class: 'cm-owners', markers: (view: EditorView) => view.state.field(markers) }),
];

/** Marks the lines of a text that shows an object. */
export function showOwners(view: EditorView, managers: readonly Manager[], object: ApiObject): void {
  const builder = new RangeSetBuilder<OwnerMarker>();
  const { doc } = view.state;
  const byLine = new Map<number, readonly number[]>();
  for (const { line, path } of outlineOf(doc.toString())) {
    const owners = ownersOf(managers, object, path);
    if (owners.length > 0) byLine.set(line, [...new Set([...(byLine.get(line) ?? []), ...owners])]);
  }
  for (const [line, owners] of byLine) {
    const title = owners.map((owner) => managerText(managers[owner]!)).join('\n');
    const { from } = doc.line(line);
    builder.add(from, from, new OwnerMarker(owners, title));
  }
  view.dispatch({ effects: setMarkers.of(builder.finish()) });
}

export const managerText = ({ name, operation, subresource }: Manager): string =>
  `${name || 'unknown'} (${operation.toLowerCase()}${subresource ? ` of ${subresource}` : ''})`;
