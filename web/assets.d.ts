/** Files that the build turns into style sheets. */
declare module '*.css';
