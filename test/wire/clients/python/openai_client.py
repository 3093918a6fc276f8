"""Asks a gateway by the official openai package and prints what its user sees: one JSON object, by scenario."""

import os

from openai import APIStatusError, OpenAI
from pydantic import BaseModel
from scenarios import pixel, run

client = OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["API_KEY"], max_retries=0)
messages = [{"role": "user", "content": "Hi"}]
tools = [
    {
        "type": "function",
        "name": name,
        "strict": False,
        "parameters": {"type": "object", "properties": properties},
    }
    for name, properties in (("weather", {"city": {"type": "string"}}), ("now", {}))
]


class Place(BaseModel):
    city: str
    days: list[int]


def plain(**body):
    return client.responses.create(**body)


def streamed(**body):
    with client.responses.stream(**body) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def text(ask):
    response = ask(model="talks", input="Hi")
    return [response.output_text, response.status, response.usage.input_tokens, response.usage.output_tokens]


def calls(ask):
    first = ask(model="calls", input="Weather?", tools=tools)
    made = [item for item in first.output if item.type == "function_call"]
    history = [{"role": "user", "content": "Weather?"}, *(item.model_dump(exclude_none=True) for item in first.output)]
    history += [{"type": "function_call_output", "call_id": call.call_id, "output": f"{call.name} ok"} for call in made]
    second = ask(model="calls", input=history, tools=tools)
    return [[f"{call.name} {call.arguments}" for call in made], second.output_text]


def reasoning(ask):
    first, *_ = ask(model="thinks", input="Why?", reasoning={"summary": "auto"}).output
    return [first.type, first.summary[0].text]


def image(ask):
    parts = [
        {"type": "input_text", "text": "What?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{pixel}", "detail": "auto"},
    ]
    return ask(model="sees", input=[{"role": "user", "content": parts}]).output_text


def refusal(ask):
    return ask(model="refuses", input="Hi").output[0].content[0].refusal


def cut():
    body = {"model": "stops", "input": "Hi"}
    # The helper for streams knows no end but response.completed, whoever answers.
    *_, last = client.responses.create(stream=True, **body)
    return [client.responses.create(**body).incomplete_details.reason, last.type]


def errors(ask):
    seen = []
    for model in ("full", "fails", "rejects", "nobody"):
        try:
            ask(model=model, input="Hi")
        except APIStatusError as error:
            seen.append(f"{type(error).__name__} {error.status_code}")
    return seen


def broken():
    try:
        streamed(model="breaks", input="Hi")
    except Exception as error:
        return str(error)


def unauthorized():
    try:
        client.with_options(api_key="mgk_wrong").responses.create(model="talks", input="Hi")
    except APIStatusError as error:
        return type(error).__name__


def retries():
    patient = client.with_options(max_retries=2)
    return [patient.responses.create(model=model, input="Hi").output_text for model in ("busy", "stumbles")]


def parsed():
    body = {"model": "obeys", "input": "Where?", "text_format": Place}
    with client.responses.stream(**body) as stream:
        for _ in stream:
            pass
        live = stream.get_final_response()
    return [each.output_parsed.model_dump() for each in (client.responses.parse(**body), live)]


def left():
    with client.responses.create(model="lingers", input="Hi", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                return event.delta


def completions():
    whole = client.completions.create(model="talks", prompt=["a", "b"])
    pieces = client.completions.create(model="talks", prompt="a", stream=True)
    return [[each.text for each in whole.choices], "".join(each.choices[0].text for each in pieces)]


def chat():
    usage = {"include_usage": True}
    whole = client.chat.completions.create(model="talks", messages=messages)
    parsed = client.chat.completions.parse(model="obeys", messages=messages, response_format=Place)
    with client.chat.completions.stream(model="talks", messages=messages, stream_options=usage) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    return [
        whole.choices[0].message.content,
        final.choices[0].message.content,
        parsed.choices[0].message.parsed.model_dump(),
    ]


def models():
    return "talks" in [model.id for model in client.models.list()]


run(
    ways={"plain": plain, "streamed": streamed},
    both=[text, calls, reasoning, image, refusal, errors],
    once=[cut, broken, unauthorized, retries, parsed, left, completions, chat, models],
)
