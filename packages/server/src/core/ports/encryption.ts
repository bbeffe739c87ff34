/** A key that stored secrets may be sealed with; the key itself is not in the store. */
export interface EncryptionKeyRecord {
  readonly key_id: string;
  readonly created_at: string;
  /** When everything had been renewed under another key; null while it may be in use. */
  readonly retired_at: string | null;
}

/** The keys of the whole installation, across workspaces. */
export interface EncryptionKeys {
  /** The oldest first. */
  list(): Promise<readonly EncryptionKeyRecord[]>;
}

export interface EncryptionKeyWriter extends EncryptionKeys {
  /** Notes that the key is in use from now on, also if it was retired. */
  use(keyId: string): Promise<void>;
  retire(keyId: string, retiredAt: string): Promise<void>;
  remove(keyId: string): Promise<void>;
}

/** A secret as it is stored, wherever that is. */
export interface SealedText {
  readonly position: SealedPosition;
  readonly sealed: string;
}

/** Where a secret is stored: `table.column`, and the primary key of the row. */
export interface SealedPosition {
  readonly column: string;
  readonly row: readonly (string | number)[];
}

/** Every secret of the store, for renewing them under another key. */
export interface SealedTexts {
  /** Those after the position in an order that does not change, across workspaces. */
  list(page: { limit: number; after?: SealedPosition }): Promise<readonly SealedText[]>;
  /** Does nothing if the secret was changed or taken away meanwhile. */
  replace(text: SealedText, sealed: string): Promise<void>;
}
