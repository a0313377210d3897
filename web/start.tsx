/** Starts the dashboard: theme, router, keys, discovery and the frame. */
import { render } from 'preact';
import { startKeys } from './core/keys.ts';
import { discover, followKinds } from './core/kinds.ts';
import { place, startRouter } from './core/router.ts';
import { startTheme } from './core/theme.ts';
import { Shell } from './shell/shell.tsx';
import { viewAt } from './shell/views.ts';

startTheme();
startRouter();
startKeys();
// Fetch the view during discovery. If that fails, it is fetched again when it is shown.
viewAt(place.value)
  ?.load()
  .catch(() => undefined);
void discover();
followKinds();
const page = document.getElementById('page')!;
page.replaceChildren();
render(<Shell />, page);
