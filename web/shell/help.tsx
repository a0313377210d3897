/** The keys that do something now. */
import { bindings } from '../core/keys.ts';
import { Dialog } from '../ui/dialog.tsx';

export function Help({ onClose }: { readonly onClose: () => void }) {
  const current = new Map(bindings.value.map(({ key, does }) => [key, does]));
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[...current].map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key === ' ' ? 'Space' : key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
