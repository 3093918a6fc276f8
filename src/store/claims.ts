/** Which namespaces a controller may act in, because no other installation acts there. */
export interface Claims {
  /** Whether it may reconcile and write in a namespace. */
  acts(namespace: string): boolean;
  /** Calls back when it may act in a namespace from now on. Returns a function that ends it. */
  subscribe(gained: (namespace: string) => void): () => void;
}
