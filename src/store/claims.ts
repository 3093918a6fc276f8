/** Which namespaces a controller may act in, because no other installation acts there. */
export interface Claims {
  /** Whether the controller may reconcile and write in a namespace. */
  acts(namespace: string): boolean;
  /** Calls `gained` when the controller may act in a namespace from now on. Returns a function that ends the subscription. */
  subscribe(gained: (namespace: string) => void): () => void;
}
