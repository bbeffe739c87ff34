/** As much of the package, which brings no types of its own, as is used here. */
declare module "html-to-text" {
  export interface Element {
    readonly name: string;
    readonly children: readonly unknown[];
  }

  export interface BlockTextBuilder {
    openBlock(options: { readonly leadingLineBreaks: number }): void;
    addInline(text: string): void;
    closeBlock(options: { readonly trailingLineBreaks: number }): void;
  }

  type Walk = (children: readonly unknown[], builder: BlockTextBuilder) => void;

  export interface ConvertOptions {
    readonly wordwrap: false;
    readonly limits?: { readonly maxDepth?: number; readonly maxInputLength?: number };
    readonly formatters?: Readonly<
      Record<string, (element: Element, walk: Walk, builder: BlockTextBuilder) => void>
    >;
    readonly selectors?: readonly {
      readonly selector: string;
      readonly format?: string;
      readonly options?: Readonly<Record<string, unknown>>;
    }[];
  }

  export function convert(html: string, options: ConvertOptions): string;
}
