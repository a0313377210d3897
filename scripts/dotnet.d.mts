export declare function fetchDotnet(tell: (message: string) => void): Promise<{
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
}>;
