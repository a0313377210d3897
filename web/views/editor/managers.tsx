/** The managers of an object's fields, with the colours that the margin shows them in. */
import { Age } from '../../ui/age.tsx';
import { managerText, ownerColours } from './owner-gutter.ts';
import type { Manager } from './owners.ts';

export function Managers({ managers }: { readonly managers: readonly Manager[] }) {
  if (managers.length === 0) return null;
  return (
    <ul class="managers" aria-label="Who manages the fields">
      {managers.map((manager, at) => (
        <li key={`${manager.name} ${manager.operation} ${manager.subresource}`}>
          <span class={`swatch owner${at % ownerColours}`} aria-hidden="true" />
          {managerText(manager)} <Age since={manager.time} />
        </li>
      ))}
    </ul>
  );
}
