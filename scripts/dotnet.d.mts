export declare function fetchDotnet(tell: (message: string) => void): {
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
};
