/** Where the page starts. */
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/parts.css';
import './style/tables.css';
import './style/overview.css';
import './style/time.css';
import { render } from 'preact';
import { startKeys } from './core/keys.ts';
import { discover, followKinds } from './core/kinds.ts';
import { startRouter } from './core/router.ts';
import { startTheme } from './core/theme.ts';
import { Shell } from './shell/shell.tsx';

startTheme();
startRouter();
startKeys();
void discover();
followKinds();
const page = document.getElementById('page')!;
page.replaceChildren();
render(<Shell />, page);
