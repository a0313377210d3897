/** Lets the browser paint what the file of the page holds before the script runs: it is fetched by then. */
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/parts.css';
import './style/tables.css';
import './style/overview.css';
import './style/time.css';

const start = (): void => void import('./start.tsx');

// A page in the background has no frames.
if (document.visibilityState === 'visible') requestAnimationFrame(() => setTimeout(start));
else start();
