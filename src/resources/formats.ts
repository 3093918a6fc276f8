/** Wire formats that a node may speak besides chat-completions. */
export const nativeFormats = ['Responses', 'Messages', 'Completions'] as const;

/** A wire format that a node speaks besides chat-completions. */
export type NativeFormat = (typeof nativeFormats)[number];
