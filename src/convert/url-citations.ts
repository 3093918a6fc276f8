import { isObject, type JsonObject, listOf, objectOf, textOf } from './json.ts';

/** A web address that an answer cites, with the place in the text. */
export interface UrlCitation {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly url: string;
  readonly title: string;
}

/** The `url_citation` annotations of a chat message or delta; other kinds are passed over. */
export function readCitations(message: JsonObject): readonly UrlCitation[] {
  const citations: UrlCitation[] = [];
  for (const annotation of listOf(message['annotations'])) {
    if (!isObject(annotation) || annotation['type'] !== 'url_citation') continue;
    const citation = objectOf(annotation['url_citation'] ?? annotation);
    const url = textOf(citation['url']);
    if (url === '') continue;
    citations.push({
      startIndex: index(citation['start_index']),
      endIndex: index(citation['end_index']),
      url,
      title: textOf(citation['title']),
    });
  }
  return citations;
}

function index(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
